// What an instance asks of a legal problem of attention: sizes, tiles, splits and promises.
#include "fmha/fmha_fixture.hpp"

namespace test_fmha_instance_rules {

using namespace ckgen;
using tiny::attention;
using tiny::exact;
using tiny::padded;
using tiny::sizes;

class FmhaInstanceRules : public tiny::FmhaTest {};

/// 64 rows under a mask.
FmhaShape window(std::int64_t keys, FmhaCorner corner, std::int32_t left, std::int32_t right) {
  FmhaShape shape = sizes(1, 1, 1, 64, keys, 64, 64);
  shape.corner = corner, shape.window_left = left, shape.window_right = right;
  return shape;
}

TEST_F(FmhaInstanceRules, HeadDimensionsAreExactOrPadded) {
  add("exact", exact(64, 64, 128, 96));
  EXPECT_EQ(chosen(sizes(1, 1, 1, 64, 64, 128, 96)), "exact");
  EXPECT_EQ(chosen(sizes(1, 1, 1, 64, 64, 136, 96)), "head dimension = 136 is above 128 (rule fmha.instance.hdim)");
  EXPECT_EQ(chosen(sizes(1, 1, 1, 64, 64, 128, 104)), "head dimension = 104 is above 96 (rule fmha.instance.hdim)");
  EXPECT_EQ(chosen(sizes(1, 1, 1, 64, 64, 64, 96)),
            "head dimension = 64 is not a multiple of 128 (rule fmha.instance.hdim-multiple)");
  EXPECT_EQ(chosen(sizes(1, 1, 1, 64, 64, 128, 48)),
            "head dimension = 48 is not a multiple of 96 (rule fmha.instance.hdim-multiple)");
  add("padded", padded(64, 64, 128, 96));
  EXPECT_EQ(chosen(sizes(1, 1, 1, 64, 64, 64, 48)), "padded");
  EXPECT_EQ(chosen(sizes(1, 1, 1, 64, 64, 60, 48)),
            "head dimension = 60 is not a multiple of 8 (rule fmha.instance.hdim-multiple)");
}

TEST_F(FmhaInstanceRules, TilesAreWholeOrPadded) {
  FmhaConfig config = padded(64, 32, 128, 128);
  config.pad_q = false;
  add("whole_q", config);
  EXPECT_EQ(chosen(sizes(1, 1, 1, 128, 33, 64, 64)), "whole_q");
  EXPECT_EQ(chosen(sizes(1, 1, 1, 100, 33, 64, 64)),
            "seqlen_q = 100 does not fill tiles of 64 (rule fmha.instance.q-tile)");
  config.pad_q = true;
  config.pad_k = false;
  add("whole_k", config);
  EXPECT_EQ(chosen(sizes(1, 1, 1, 100, 96, 64, 64)), "whole_k");
  EXPECT_EQ(chosen(sizes(1, 1, 1, 100, 97, 64, 64)),
            "seqlen_q = 100 does not fill tiles of 64 (rule fmha.instance.q-tile)");
  EXPECT_EQ(chosen(sizes(1, 1, 1, 70, 97, 64, 64)),
            "seqlen_k = 97 does not fill tiles of 32 (rule fmha.instance.k-tile)");
  EXPECT_EQ(chosen(sizes(1, 1, 1, 100, 0, 64, 64)),
            "seqlen_q = 100 does not fill tiles of 64 (rule fmha.instance.q-tile)");
}

TEST_F(FmhaInstanceRules, DifferingLengthsNeedBothPads) {
  FmhaTraits traits;
  traits.varlen = true;
  for (const bool pad_q : {true, false}) {
    FmhaConfig config = padded(64, 32, 128, 128);
    config.pad_q = pad_q;
    config.pad_k = !pad_q;
    add(pad_q ? "q" : "k", config, attention(traits));
    EXPECT_EQ(chosen(sizes(2, 1, 1, 64, 64, 64, 64), attention(traits)),
              "sequences differ in length, and the instance takes whole tiles of 64x32 (rule fmha.instance.varlen)");
  }
  add("both", padded(64, 32, 128, 128), attention(traits));
  EXPECT_EQ(chosen(sizes(2, 1, 1, 63, 61, 64, 64), attention(traits)), "both");
}

TEST_F(FmhaInstanceRules, Splits) {
  FmhaConfig config = padded(64, 32, 128, 128);
  config.max_splits = 4;
  add("split", config);
  const Dispatcher own = dispatcher();
  const Problem problem = Problem(attention()).fmha(sizes(1, 1, 1, 1, 4096, 64, 64));
  Selection selection = own.select(problem, device);
  ASSERT_TRUE(selection);
  EXPECT_EQ(selection.k_batch, 4U);
  for (const std::uint32_t splits : {0U, 1U, 4U}) {
    selection.k_batch = splits;
    const auto plan = own.plan(problem, device, selection);
    ASSERT_TRUE(plan) << plan.status().message;
    EXPECT_EQ(plan->stages[0].k_batch, splits);
  }
  for (const std::uint32_t splits : {5U, 0xffffffffU}) {
    selection.k_batch = splits;
    EXPECT_EQ(std::string(own.plan(problem, device, selection).status().message),
              std::to_string(splits) + " splits of KV are more than 4 (rule fmha.instance.splits)");
  }
}

TEST_F(FmhaInstanceRules, ASchedulesSizesAreLegal) {
  add("any", padded(64, 32, 128, 128));
  const auto with = [&](auto change) {
    FmhaShape x = sizes(2, 4, 2, 3, 4096, 64, 64);
    x.split_items = 4, x.split_m0 = 64, x.split_n0 = 32;
    change(x);
    return chosen(x);
  };
  const std::string entries = "entries or rows of a schedule of splits = ", tiles = "tiles of a schedule of splits = ";
  EXPECT_EQ(with([](FmhaShape& x) { x.split_items = -1; }),
            entries + "-1 are not within 0 to 2147483647 (rule fmha.shape.split-items)");
  EXPECT_EQ(with([](FmhaShape& x) { x.split_rows = std::int64_t{1} << 31; }),
            entries + "2147483648 are not within 0 to 2147483647 (rule fmha.shape.split-items)");
  for (std::int64_t FmhaShape::* const count : {&FmhaShape::split_combines, &FmhaShape::split_rows})
    EXPECT_EQ(with([&](FmhaShape& x) { x.split_items = 0, x.*count = 7; }),
              entries + "7 are not within 0 to 0 (rule fmha.shape.split-items)");
  for (std::int32_t FmhaShape::* const tile : {&FmhaShape::split_m0, &FmhaShape::split_n0})
    EXPECT_EQ(with([&](FmhaShape& x) { x.*tile = 0; }),
              tiles + "0 are not within 1 to 4096 (rule fmha.shape.split-tile)");
}

TEST_F(FmhaInstanceRules, ASchedulesKernelHasItsTiles) {
  const auto refusal = [&](auto change) {
    FmhaConfig config = padded(64, 32, 128, 128);
    config.takes_items = true;
    config.max_splits = 8;
    FmhaShape x = sizes(2, 4, 2, 3, 4096, 64, 64);
    x.split_items = 4, x.split_m0 = 64, x.split_n0 = 128;
    change(config, x);
    registry = Registry();
    add("one", config);
    return chosen(x);
  };
  EXPECT_EQ(refusal([](FmhaConfig&, FmhaShape&) {}), "one");
  EXPECT_EQ(refusal([](FmhaConfig& c, FmhaShape&) { c.takes_items = false; }),
            "a schedule of 4 splits is given, and the instance reads none (rule fmha.instance.items)");
  const std::string made = "a schedule of splits for tiles of ";
  EXPECT_EQ(refusal([](FmhaConfig&, FmhaShape& x) { x.split_m0 = 16; }),
            made + "16 is given, and the instance has tiles of 64 (rule fmha.instance.split-tile)");
  EXPECT_EQ(refusal([](FmhaConfig&, FmhaShape& x) { x.split_n0 = 48; }),
            made + "48 is given, and the instance has tiles of 32 (rule fmha.instance.split-tile)");
  const std::string merged = "query heads of a KV head are merged in the schedule of splits (";
  EXPECT_EQ(refusal([](FmhaConfig&, FmhaShape& x) { x.split_merged = true; }),
            merged + "1) or in the instance (0) (rule fmha.instance.split-heads)");
  EXPECT_EQ(refusal([](FmhaConfig& c, FmhaShape&) { c.merge_heads = true; }),
            merged + "0) or in the instance (1) (rule fmha.instance.split-heads)");
}

TEST_F(FmhaInstanceRules, AScheduleIsNotSplitAgain) {
  FmhaConfig config = padded(64, 32, 128, 128);
  config.takes_items = true;
  config.max_splits = 8;
  add("one", config);
  FmhaShape x = sizes(2, 4, 2, 3, 4096, 64, 64);
  x.split_items = 4, x.split_m0 = 64, x.split_n0 = 32;
  const Dispatcher own = dispatcher();
  Selection selection = own.select(Problem(attention()).fmha(x), device);
  selection.k_batch = 2;
  EXPECT_STREQ(own.plan(Problem(attention()).fmha(x), device, selection).status().message,
               "2 splits of KV are more than 1 (rule fmha.instance.splits)");
}

TEST_F(FmhaInstanceRules, RowsHeadsAndPagesThatAreTooMany) {
  FmhaTraits traits;
  traits.kv = FmhaKv::block_table;
  const Signature paged = attention(traits);
  FmhaConfig config = padded(64, 32, 128, 128);
  config.max_rows = 2;
  config.max_group = 4;
  config.page_multiple = config.max_page = 16;
  add("decode", config, paged);
  const auto of = [](std::int32_t heads, std::int64_t rows, std::int32_t page) {
    FmhaShape shape = sizes(1, heads, 2, rows, 64, 64, 64);
    shape.page_size = page;
    return shape;
  };
  EXPECT_EQ(chosen(of(8, 2, 16), paged), "decode");
  EXPECT_EQ(chosen(of(10, 2, 16), paged), "5 query heads per KV head are more than 4 (rule fmha.instance.group)");
  EXPECT_EQ(chosen(of(8, 3, 16), paged), "3 rows of Q in a sequence are more than 2 (rule fmha.instance.rows)");
  EXPECT_EQ(chosen(of(8, 2, 32), paged), "page size = 32 is above 16 (rule fmha.instance.page)");
  EXPECT_NE(dispatcher()
                .explain(Problem(paged).fmha(of(8, 2, 16)), device)
                .find(", seqlen_q ≤ 2, heads_q ≤ 4 heads_k, page_size ≤ 16)"),
            std::string::npos);
}

TEST_F(FmhaInstanceRules, PagesThatMustBeFinite) {
  FmhaTraits traits;
  traits.kv = FmhaKv::block_table;
  FmhaConfig config = padded(64, 32, 128, 128);
  config.needs_finite = true;
  add("finite", config, attention(traits));
  FmhaShape shape = sizes(1, 1, 1, 7, 9, 64, 64);
  shape.page_size = 16;
  EXPECT_EQ(chosen(shape, attention(traits)),
            "pages may hold what is not finite behind the last key, and the instance multiplies it by 0 "
            "(rule fmha.instance.finite)");
  shape.finite_kv = true;
  EXPECT_EQ(chosen(shape, attention(traits)), "finite");
}

TEST_F(FmhaInstanceRules, GapsBetweenSequences) {
  FmhaTraits traits;
  traits.varlen = true;
  FmhaConfig config = padded(64, 32, 128, 128);
  config.takes_gaps_q = false;
  add("close", config, attention(traits));
  FmhaShape shape = sizes(1, 1, 1, 7, 9, 64, 64);
  EXPECT_EQ(chosen(shape, attention(traits)), "close");
  shape.gaps_q = true;
  EXPECT_EQ(chosen(shape, attention(traits)),
            "rows of Q may lie between sequences, and the instance knows their starts alone "
            "(rule fmha.instance.gaps-q)");
  add("apart", padded(64, 32, 128, 128), attention(traits));
  EXPECT_EQ(chosen(shape, attention(traits)), "apart");
}

TEST_F(FmhaInstanceRules, SlopesUnderAMaskFromTheTopLeft) {
  FmhaTraits traits;
  traits.masked = true;
  traits.bias = FmhaBias::alibi;
  FmhaConfig config = padded(64, 32, 128, 128);
  config.topleft_slopes = false;
  add("ends", config, attention(traits));
  FmhaShape shape = sizes(1, 1, 1, 7, 9, 64, 64);
  EXPECT_EQ(chosen(shape, attention(traits)), "ends");
  shape.corner = FmhaCorner::top_left;
  EXPECT_EQ(chosen(shape, attention(traits)),
            "the mask starts at the top left, and the instance would count distances of slopes from there "
            "(rule fmha.instance.slopes)");
  shape.seqlen_k = 7;
  EXPECT_EQ(chosen(shape, attention(traits)), "ends");
}

/// An instance whose mask is causal from one corner: to the last key, or from the first.
struct OneCorner {
  bool FmhaConfig::* only;
  FmhaCorner own, other;
  const char* refused;
};

class FmhaOneCorner : public FmhaInstanceRules, public testing::WithParamInterface<OneCorner> {};

TEST_P(FmhaOneCorner, CausalMasksAlone) {
  const auto& [only, own, other, refused] = GetParam();
  FmhaTraits traits;
  traits.masked = true;
  const Signature masked = attention(traits);
  traits.varlen = true;
  const Signature varlen = attention(traits);
  FmhaConfig config = padded(64, 32, 128, 128);
  config.*only = true;
  add("plain", config);
  add("masked", config, masked);
  add("varlen", config, varlen);
  EXPECT_EQ(chosen(window(96, own, -1, 0), masked), "masked");
  EXPECT_EQ(chosen(window(96, own, -1, 0), varlen), "varlen");
  EXPECT_EQ(chosen(window(64, other, -1, 0), masked), "masked") << "the corners are one";
  EXPECT_EQ(chosen(window(96, other, -1, 0), masked), refused);
  EXPECT_EQ(chosen(window(64, other, -1, 0), varlen), refused) << "lengths may differ";
  EXPECT_EQ(chosen(window(96, own, 8, 0), masked), refused);
  EXPECT_EQ(chosen(window(96, own, -1, 1), masked), refused);
  EXPECT_EQ(chosen(window(96, own, -1, -1), masked), refused);
  EXPECT_EQ(chosen(window(96, other, 3, 3)), "plain");
}

INSTANTIATE_TEST_SUITE_P(
    Corners, FmhaOneCorner,
    testing::Values(
        OneCorner{&FmhaConfig::causal_only, FmhaCorner::bottom_right, FmhaCorner::top_left,
                  "the mask is not causal up to the last key, and the instance has no other (rule fmha.instance.mask)"},
        OneCorner{&FmhaConfig::topleft_only, FmhaCorner::top_left, FmhaCorner::bottom_right,
                  "the mask is not causal from the first key on, and the instance has no other (rule "
                  "fmha.instance.mask-topleft)"}),
    [](const auto& one) { return std::string(one.index == 0 ? "ToTheLastKey" : "FromTheFirstKey"); });

TEST_F(FmhaInstanceRules, AKeyThatIsNeeded) {
  FmhaConfig config = padded(64, 32, 128, 128);
  config.needs_keys = true;
  add("keyed", config);
  EXPECT_EQ(chosen(sizes(1, 1, 1, 7, 1, 64, 64)), "keyed");
  EXPECT_EQ(chosen(sizes(1, 1, 1, 7, 0, 64, 64)),
            "sequences have at least 0 keys, and the instance needs 1 (rule fmha.instance.keys)");
  FmhaTraits traits;
  traits.varlen = true;
  add("varlen", config, attention(traits));
  FmhaShape shape = sizes(2, 1, 1, 7, 9, 64, 64);
  EXPECT_EQ(chosen(shape, attention(traits)),
            "sequences have at least 0 keys, and the instance needs 1 (rule fmha.instance.keys)");
  shape.min_seqlen_k = 9;
  EXPECT_EQ(chosen(shape, attention(traits)), "varlen");
  shape.min_seqlen_k = 10;
  EXPECT_EQ(chosen(shape, attention(traits)), "min_seqlen_k = 10 is not within 0 to 9 (rule fmha.shape.min-seqlen)");
  EXPECT_EQ(chosen(shape), "keyed") << "of those that have lengths alone";
}

TEST_F(FmhaInstanceRules, NumbersThatNoTileHasAreNotRegistered) {
  std::uint64_t name = 0;
  const auto refusal = [&](auto change, const Signature& signature = attention()) {
    FmhaConfig config = padded(64, 64, 128, 128);
    change(config);
    return std::string(registry.add(described(tiny::numbered("wrong", ++name), config, signature)).message);
  };
  EXPECT_EQ(refusal([](FmhaConfig&) {}), "");
  for (std::int32_t FmhaConfig::* const tile :
       {&FmhaConfig::m0, &FmhaConfig::n0, &FmhaConfig::k0, &FmhaConfig::n1, &FmhaConfig::k1}) {
    for (const std::int32_t wrong : {0, -1, 4097})
      EXPECT_NE(refusal([&](FmhaConfig& c) { c.*tile = wrong; }), "") << wrong;
  }
  EXPECT_NE(refusal([](FmhaConfig& c) { c.n1 = 4; }).find("tiles are out of range"), std::string::npos);
  for (std::int32_t FmhaConfig::* const hdim : {&FmhaConfig::hdim_q, &FmhaConfig::hdim_v}) {
    for (const std::int32_t wrong : {0, 257}) EXPECT_NE(refusal([&](FmhaConfig& c) { c.*hdim = wrong; }), "") << wrong;
  }
  EXPECT_NE(refusal([](FmhaConfig& c) { c.d_multiple = -1; }), "");
  EXPECT_NE(refusal([](FmhaConfig& c) { c.max_splits = 0; }), "");
  EXPECT_NE(refusal([](FmhaConfig& c) { c.page_multiple = 0; }), "");
  for (std::int32_t FmhaConfig::* const most : {&FmhaConfig::max_page, &FmhaConfig::max_rows, &FmhaConfig::max_group})
    EXPECT_NE(refusal([&](FmhaConfig& c) { c.*most = -1; }), "");
  EXPECT_NE(refusal([](FmhaConfig& c) { c.cache_limit = -1; }), "");
  EXPECT_NE(refusal([](FmhaConfig& c) { c.max_keys = -1; }), "");
  EXPECT_NE(refusal([](FmhaConfig&) {}, tiny::fp16).find("only attention has attention's tiles"), std::string::npos);
}

}  // namespace test_fmha_instance_rules
