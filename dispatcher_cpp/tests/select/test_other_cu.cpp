// The step other_cu: which tables of other CU counts answer, in which order, and with how many splits of K.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tiny_library.hpp"

namespace test_other_cu {

using namespace ckgen;
using namespace ckgen::describe;

constexpr InstanceDesc of(const char* name, std::uint64_t id, std::int32_t k_per_split = 0) {
  return tiny::instance(name, id, tiny::fp16, {64, 128, 128}, {0, 0, 0, k_per_split, 257, 128, false});
}

// The first five won M = 64 at the CU counts that they are named after, the others a size each at 128 CUs of gfx950.
// That of 192 CUs splits K in whole groups of 128.
constexpr InstanceDesc instances[] = {of("64", 1),       of("96", 2),  of("128", 3), of("160", 4),
                                      of("192", 5, 128), of("m16", 6), of("m64", 7), of("m4096", 8)};
template <std::uint16_t winner>
constexpr Rung at_64[] = {rung(64, winner)};
constexpr Rung at_192[] = {rung(64, 4, k_batch(7))};
constexpr Rung at_950[] = {rung(16, 5), rung(64, 6), rung(4096, 7)};
// K = 8192 is in each table, three others only in that of 192 CUs.
template <std::uint16_t winner>
constexpr Group groups[] = {ladder<at_64<winner>>(512, 8192)};
constexpr Group groups192[] = {ladder<at_192>(512, 8192), ladder<at_192>(512, 1152), ladder<at_192>(512, 1280),
                               ladder<at_192>(512, 2048)};
constexpr Group groups950[] = {ladder<at_950>(512, 8192)};
template <std::uint16_t winner>
constexpr auto slots = slots_of(groups<winner>);
constexpr auto slots192 = slots_of(groups192);
constexpr auto slots950 = slots_of(groups950);

template <std::uint16_t winner>
constexpr LookupTable table(std::uint32_t cu_num) {
  return lookup_table(Arch::gfx942, cu_num, tiny::policy, groups<winner>, slots<winner>);
}
constexpr LookupTable table64 = table<0>(64), table96 = table<1>(96), table128 = table<2>(128),
                      table160 = table<3>(160);
constexpr LookupTable table192 = lookup_table(Arch::gfx942, 192, tiny::policy, groups192, slots192);
constexpr LookupTable table950 = lookup_table(Arch::gfx950, 128, tiny::policy, groups950, slots950);
constexpr const LookupTable* tables[] = {&table192, &table64, &table950, &table160, &table96, &table128};
constexpr SignatureUnit unit{"gemm_fp16_rcr", tiny::fp16, instances, 8, tables, 6, nullptr, 0, nullptr, 0};
constexpr const SignatureUnit* units[] = {&unit};
constexpr Library library{"others", CKGEN_RUNTIME_ABI, 0x99, units, 1};

class OtherCu : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(registry.add(library).ok());
    dispatcher = Dispatcher(registry, DispatcherOptions{});
  }
  std::vector<std::string> tried(Arch arch, std::uint32_t cu_num, std::int64_t m) const {
    const Problem problem = tiny::problem(m, 512, 8192);
    const Device device = Device::simulated(arch_info(arch).name, cu_num);
    std::vector<std::string> names;
    for (Selection s = dispatcher.select(problem, device); s; s = dispatcher.next(problem, device, s))
      if (s.tier == Tier::other_cu) names.emplace_back(registry.instance(s.instance).name);
    return names;
  }

  Registry registry;
  Dispatcher dispatcher{Registry(), DispatcherOptions{}};
};

using Orders = std::map<std::int64_t, std::vector<std::string>>;

// The lists are those of tests/plan/test_select.py.
TEST_F(OtherCu, CountsAreTriedNearestFirstAndOfTwoAsNearTheLarger) {
  for (const auto& [own, expected] : Orders{{128, {"160", "96", "192", "64"}},
                                            {144, {"160", "128", "192", "96", "64"}},
                                            {100, {"96", "128", "64", "160", "192"}},
                                            {32, {"64", "96", "128", "160", "192"}},
                                            {64, {"96", "128", "160", "192"}},
                                            {192, {"160", "128", "96", "64"}},
                                            {256, {"192", "160", "128", "96", "64"}}})
    EXPECT_EQ(tried(Arch::gfx942, static_cast<std::uint32_t>(own), 64), expected) << own;
}

TEST_F(OtherCu, ATableOffersItsNearRungThenTheFarOnes) {
  for (const auto& [m, expected] : Orders{{64, {"m64", "m16"}},
                                          {60, {"m64", "m16"}},
                                          {100, {"m64", "m4096"}},
                                          {511, {"m64", "m4096"}},
                                          {512, {"m4096", "m64"}},
                                          {5000, {"m4096"}},
                                          {8, {"m16"}}})
    EXPECT_EQ(tried(Arch::gfx950, 256, m), expected) << m;
}

TEST_F(OtherCu, SplitsAreHalvedUntilTheKernelTakesThem) {
  struct Case {
    std::int64_t k;
    std::uint32_t splits;
  };
  for (const Case& x : {Case{1152, 1}, Case{1280, 2}, Case{2048, 4}, Case{8192, 16}}) {  // from 4, 4, 8 and 32
    const Selection s = dispatcher.select(tiny::problem(64, 512, x.k), Device::simulated("gfx942", 256));
    ASSERT_EQ(s.tier, Tier::other_cu) << x.k;
    EXPECT_STREQ(registry.instance(s.instance).name, "192");
    EXPECT_EQ(s.k_batch, x.splits) << x.k;
  }
}

/// 16 tiles of 64 x 128 in all: 16 splits of K = 8192 fill 256 units, where one group alone would take 32.
TEST(OtherCuOfGroups, SplitsAreCountedForAllGroups) {
  Signature signature = tiny::fp16;
  signature.op = Op::grouped_gemm;
  const InstanceDesc built[] = {tiny::instance("grouped", 1, signature, {64, 128, 128}, {0, 0, 0, 0, 0, 128, false})};
  static constexpr LookupTable other = table<0>(96);
  const LookupTable* others[] = {&other};
  const SignatureUnit grouped{"grouped", signature, built, 1, others, 1, nullptr, 0, nullptr, 0};
  const SignatureUnit* all[] = {&grouped};
  Registry registry;
  ASSERT_TRUE(registry.add(Library{"grouped", CKGEN_RUNTIME_ABI, 0x96, all, 1}).ok());
  const Dispatcher dispatcher{registry, DispatcherOptions{}};
  for (const auto& [count, splits] : std::map<std::size_t, std::uint32_t>{{1, 32}, {2, 32}, {4, 16}, {9, 4}}) {
    const std::vector<GroupSize> sizes(count, {64, 512, 8192});
    const Groups groups_of_it(sizes.data(), static_cast<std::int64_t>(count));
    const Selection s = dispatcher.select(Problem(signature).groups(groups_of_it), Device::simulated("gfx942", 256));
    ASSERT_EQ(s.tier, Tier::other_cu) << reason(s);
    EXPECT_EQ(s.k_batch, splits) << count;
  }
}

TEST_F(OtherCu, TheTrailNamesTheTablesCount) {
  const std::string text = dispatcher.explain(tiny::problem(64, 512, 2048), Device::simulated("gfx942", 256));
  EXPECT_NE(text.find("other_cu   ✔ M=64 → 192"), std::string::npos) << text;
  EXPECT_NE(text.find(" on gfx942:192"), std::string::npos) << text;
}

}  // namespace test_other_cu
