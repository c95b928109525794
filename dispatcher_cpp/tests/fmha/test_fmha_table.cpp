// Measured problems of attention: which row answers, what a row may say, and what a library may not hold.
#include "fmha/fmha_fixture.hpp"

namespace test_fmha_table {

using namespace ckgen;
using tiny::attention;
using tiny::padded;
using tiny::sizes;

constexpr FmhaTraits kMasked = [] {
  FmhaTraits traits;
  traits.masked = true;
  return traits;
}();
constexpr FmhaContext kPlain{2, 8, 2, 128, 128, 0, FmhaCorner{}, 0, 0, 0};
constexpr FmhaContext kCausal{2, 8, 2, 128, 128, 0, FmhaCorner::bottom_right, -1, 0, 0};

FmhaConfig split_config() {
  FmhaConfig config = padded(64, 64, 128, 128);
  config.max_splits = 16;
  return config;
}

/// A library of two instances, of which `cheap` costs least, and one table.
class FmhaTableTest : public ::testing::Test {
 protected:
  Status add(const FmhaRung* rungs, std::uint32_t count, const FmhaTraits& traits = {}, std::uint32_t cu_num = 304) {
    const Signature signature = attention(traits);
    instances_[0] = tiny::instance("cheap", 1, signature, {64, 128, 64}, {0, 0, 0, 0, 0, 1, false});
    instances_[1] = tiny::instance("measured", 2, signature, {128, 128, 64}, {0, 0, 0, 0, 0, 1, false});
    instances_[0].fmha = split_config();
    instances_[1].fmha = padded(128, 64, 256, 256);
    instances_[1].fmha.max_splits = 8;
    for (InstanceDesc& instance : instances_) instance.twin = tiny::keep_fmha;
    table_ = {Arch::gfx942, cu_num, 16, 2, rungs, count};
    defaults_ = {Arch::gfx942, order_, 2};
    unit_ = {"fmha", signature, instances_, 2, nullptr, 0, nullptr, 0, &defaults_, 1, &table_, 1};
    return registry_.add(Library{"attention", CKGEN_RUNTIME_ABI, 1, units_, 1});
  }
  Selection select(const FmhaShape& shape, const FmhaTraits& traits = {}) const {
    return Dispatcher(registry_, DispatcherOptions{}).select(Problem(attention(traits)).fmha(shape), device_);
  }
  std::string explain(const FmhaShape& shape) const {
    return Dispatcher(registry_, DispatcherOptions{}).explain(Problem(attention()).fmha(shape), device_);
  }
  Tier tier(const FmhaShape& shape, const FmhaTraits& traits = {}) const { return select(shape, traits).tier; }

  SignatureUnit unit_{};
  FmhaTable table_{};

 private:
  InstanceDesc instances_[2] = {};
  const std::uint16_t order_[2] = {0, 1};
  Defaults defaults_{};
  const SignatureUnit* units_[1] = {&unit_};
  Registry registry_;
  Device device_ = Device::simulated("gfx942");
};

TEST_F(FmhaTableTest, ATableIsOfAProductThatIsKnownOrTheLibraryIsRefused) {
  const FmhaRung rungs[] = {{kPlain, 1, 4096, {1, 8}}};
  ASSERT_TRUE(add(rungs, 1).ok());
  const SignatureUnit* const units[] = {&unit_};
  for (const auto& [sku, said] : {std::pair{"mi325x", ""},
                                  {"h200",
                                   "library attention, signature fmha: a table of "
                                   "attention is of a product that is not known with "
                                   "its arch and count"}}) {
    table_.sku = sku;
    Registry registry;
    EXPECT_STREQ(registry.add(Library{"attention", CKGEN_RUNTIME_ABI, 1, units, 1}).message, said);
  }
}

TEST_F(FmhaTableTest, ARowAnswersItsLengthsAndThoseJustBelow) {
  const FmhaRung rungs[] = {{kPlain, 1, 1000, {1, 4}}, {kPlain, 1, 4096, {1, 8}}, {kPlain, 512, 4096, {1, 1}}};
  ASSERT_TRUE(add(rungs, 3).ok());
  const Selection exact = select(sizes(2, 8, 2, 1, 4096, 128, 128));
  EXPECT_EQ(exact.tier, Tier::exact);
  EXPECT_EQ(exact.instance, 1U);
  EXPECT_EQ(exact.k_batch, 8U);
  EXPECT_EQ(exact.table_m, 4096U);
  EXPECT_EQ(select(sizes(2, 8, 2, 1, 500, 128, 128)).k_batch, 4U);
  EXPECT_EQ(tier(sizes(2, 8, 2, 1, 500, 128, 128)), Tier::near_);
  EXPECT_EQ(tier(sizes(2, 8, 2, 1, 499, 128, 128)), Tier::default_);
  EXPECT_EQ(tier(sizes(2, 8, 2, 1, 4097, 128, 128)), Tier::default_);
  EXPECT_EQ(tier(sizes(2, 8, 2, 256, 2048, 128, 128)), Tier::near_);
  EXPECT_EQ(tier(sizes(2, 8, 2, 255, 2048, 128, 128)), Tier::default_);
  // the row of one query comes first, but not for as many keys: that of 512 is not near one query
  EXPECT_EQ(tier(sizes(2, 8, 2, 2, 4096, 128, 128)), Tier::default_);
}

TEST_F(FmhaTableTest, AllElseMustBeTheSame) {
  const FmhaRung rungs[] = {{kPlain, 64, 512, {1, 1}}};
  ASSERT_TRUE(add(rungs, 1).ok());
  EXPECT_EQ(tier(sizes(2, 8, 2, 64, 512, 128, 128)), Tier::exact);
  for (const FmhaShape& another :
       {sizes(3, 8, 2, 64, 512, 128, 128), sizes(2, 16, 2, 64, 512, 128, 128), sizes(2, 8, 4, 64, 512, 128, 128),
        sizes(2, 8, 2, 64, 512, 64, 128), sizes(2, 8, 2, 64, 512, 128, 64)})
    EXPECT_EQ(tier(another), Tier::default_);
}

TEST_F(FmhaTableTest, ARowIsOfItsMask) {
  const FmhaRung rungs[] = {{kCausal, 64, 512, {1, 1}}};
  ASSERT_TRUE(add(rungs, 1, kMasked).ok());
  FmhaShape shape = sizes(2, 8, 2, 64, 512, 128, 128);
  EXPECT_EQ(tier(shape, kMasked), Tier::exact);
  shape.window_left = 127;
  EXPECT_EQ(tier(shape, kMasked), Tier::default_);
  shape = sizes(2, 8, 2, 64, 512, 128, 128);
  shape.corner = FmhaCorner::top_left;
  EXPECT_EQ(tier(shape, kMasked), Tier::default_);
}

TEST_F(FmhaTableTest, SplitsThatARowDoesNotSayAreTheCheapest) {
  const FmhaRung rungs[] = {{kPlain, 1, 65536, {1, 0}}};
  ASSERT_TRUE(add(rungs, 1).ok());
  const Selection found = select(sizes(2, 8, 2, 1, 65536, 128, 128));
  EXPECT_EQ(found.tier, Tier::exact);
  EXPECT_GT(found.k_batch, 1U);
}

TEST_F(FmhaTableTest, ARowThatCannotRunIsRejectedByItsRule) {
  const FmhaRung rungs[] = {{kPlain, 1, 4096, {1, 9}}};
  ASSERT_TRUE(add(rungs, 1).ok());
  EXPECT_EQ(tier(sizes(2, 8, 2, 1, 4096, 128, 128)), Tier::default_);
  const std::string text = explain(sizes(2, 8, 2, 1, 4096, 128, 128));
  EXPECT_NE(text.find("exact      ✘ seqlen_k=4096 → measured   k_batch 9"), std::string::npos) << text;
  EXPECT_NE(text.find("(rule fmha.instance.splits)"), std::string::npos) << text;
  EXPECT_NE(text.find("near         no row for lengths near these"), std::string::npos) << text;
}

TEST_F(FmhaTableTest, OnlyTheDevicesOwnCountIsAsked) {
  const FmhaRung rungs[] = {{kPlain, 1, 4096, {1, 1}}};
  ASSERT_TRUE(add(rungs, 1, {}, 80).ok());
  EXPECT_EQ(tier(sizes(2, 8, 2, 1, 4096, 128, 128)), Tier::default_);
  const std::string text = explain(sizes(2, 8, 2, 1, 4096, 128, 128));
  EXPECT_NE(text.find("exact        no table for gfx942:304"), std::string::npos) << text;
  EXPECT_NE(text.find("other_cu     not asked of attention"), std::string::npos) << text;
}

TEST_F(FmhaTableTest, TablesAreInOrderAndPointInside) {
  const FmhaRung outside[] = {{kPlain, 1, 4096, {2, 1}}};
  EXPECT_NE(std::string(add(outside, 1).message).find("points outside the instances"), std::string::npos);
  const FmhaRung unsorted[] = {{kPlain, 1, 4096, {1, 1}}, {kPlain, 1, 4096, {1, 1}}};
  EXPECT_NE(std::string(add(unsorted, 2).message).find("do not ascend"), std::string::npos);
}

}  // namespace test_fmha_table
