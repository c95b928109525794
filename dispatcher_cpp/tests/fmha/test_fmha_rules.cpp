// What makes a problem of attention illegal, each rule on both of its sides; what an instance asks:
// test_fmha_instance_rules.cpp.
#include "fmha/fmha_fixture.hpp"

namespace test_fmha_rules {

using namespace ckgen;
using tiny::attention;
using tiny::exact;
using tiny::padded;
using tiny::sizes;

constexpr std::int64_t kMost = 2147483647;

class FmhaRules : public tiny::FmhaTest {
 protected:
  FmhaRules() { add("any", padded(64, 64, 256, 256)); }

  /// The reason after `change`, or the instance's name.
  template <class Change>
  std::string with(Change change, const Signature& signature = attention()) const {
    FmhaShape x = sizes(2, 8, 2, 100, 200, 64, 64);
    change(x);
    return chosen(x, signature);
  }
};

TEST_F(FmhaRules, Batch) {
  EXPECT_EQ(with([](FmhaShape& x) { x.batch = 1; }), "any");
  EXPECT_EQ(with([](FmhaShape& x) { x.batch = 0; }), "batch = 0 is below 1 (rule fmha.shape.batch)");
  EXPECT_EQ(with([](FmhaShape& x) { x.batch = kMost; }), "any");
  EXPECT_EQ(with([](FmhaShape& x) { x.batch = kMost + 1; }),
            "batch = 2147483648 is above 2147483647 (rule fmha.shape.batch-max)");
}

TEST_F(FmhaRules, Heads) {
  EXPECT_EQ(with([](FmhaShape& x) { x.heads_q = x.heads_k = 1; }), "any");
  EXPECT_EQ(with([](FmhaShape& x) { x.heads_q = 0; }), "heads = 0 is below 1 (rule fmha.shape.heads)");
  EXPECT_EQ(with([](FmhaShape& x) { x.heads_k = -1; }), "heads = -1 is below 1 (rule fmha.shape.heads)");
  EXPECT_EQ(with([](FmhaShape& x) { x.heads_q = x.heads_k = 65535; }), "any");
  EXPECT_EQ(with([](FmhaShape& x) { x.heads_q = 65536; }), "heads = 65536 is above 65535 (rule fmha.shape.heads-max)");
}

TEST_F(FmhaRules, QueryHeadsShareKvHeadsEvenly) {
  for (const std::int32_t heads_k : {1, 2, 4, 8}) EXPECT_EQ(with([&](FmhaShape& x) { x.heads_k = heads_k; }), "any");
  EXPECT_EQ(with([](FmhaShape& x) { x.heads_k = 3; }),
            "8 query heads are not a multiple of 3 KV heads (rule fmha.shape.head-groups)");
  EXPECT_EQ(with([](FmhaShape& x) { x.heads_k = 16; }),
            "8 query heads are not a multiple of 16 KV heads (rule fmha.shape.head-groups)");
}

TEST_F(FmhaRules, HeadDimensions) {
  EXPECT_EQ(with([](FmhaShape& x) { x.hdim_q = x.hdim_v = 256; }), "any");
  EXPECT_EQ(with([](FmhaShape& x) { x.hdim_q = 0; }),
            "head dimension = 0 is not within 1 to 256 (rule fmha.shape.hdim)");
  EXPECT_EQ(with([](FmhaShape& x) { x.hdim_v = 257; }),
            "head dimension = 257 is not within 1 to 256 (rule fmha.shape.hdim)");
}

TEST_F(FmhaRules, Lengths) {
  EXPECT_EQ(with([](FmhaShape& x) { x.seqlen_q = x.seqlen_k = 0; }), "any");
  EXPECT_EQ(with([](FmhaShape& x) { x.seqlen_q = x.seqlen_k = kMost; }), "any");
  EXPECT_EQ(with([](FmhaShape& x) { x.seqlen_q = -1; }),
            "sequence length = -1 is not within 0 to 2147483647 (rule fmha.shape.seqlen)");
  EXPECT_EQ(with([](FmhaShape& x) { x.seqlen_k = kMost + 1; }),
            "sequence length = 2147483648 is not within 0 to 2147483647 (rule fmha.shape.seqlen)");
}

TEST_F(FmhaRules, WindowsAreOfMasksOnly) {
  FmhaTraits traits;
  traits.masked = true;
  const Signature masked = attention(traits);
  add("masked", padded(64, 64, 256, 256), masked);
  const auto none = [](FmhaShape& x) { x.window_left = x.window_right = -1; };
  EXPECT_EQ(with(none, masked), "masked");
  EXPECT_EQ(with([](FmhaShape& x) { x.window_left = -2; }, masked),
            "window of a mask = -2 is below -1 (rule fmha.shape.window)");
  EXPECT_EQ(with([](FmhaShape& x) { x.window_right = -2; }, masked),
            "window of a mask = -2 is below -1 (rule fmha.shape.window)");
  EXPECT_EQ(with([](FmhaShape& x) { x.sink_tokens = 4; }, masked), "masked");
  EXPECT_EQ(with([](FmhaShape& x) { x.sink_tokens = -1; }, masked),
            "window of a mask = -1 is below 0 (rule fmha.shape.window)");
  EXPECT_EQ(with([](FmhaShape& x) { x.window_left = -2; }), "any");
}

TEST_F(FmhaRules, PagesAreOfPagedKvOnly) {
  FmhaTraits traits;
  traits.kv = FmhaKv::block_table;
  const Signature paged = attention(traits);
  FmhaConfig whole = padded(64, 64, 256, 256);
  whole.page_multiple = 16;
  add("paged", whole, paged);
  const auto of = [](std::int32_t size, std::int64_t count) {
    return [=](FmhaShape& x) { x.page_size = size, x.pages = count; };
  };
  EXPECT_EQ(with(of(16, 0), paged), "paged");
  EXPECT_EQ(with(of(2048, kMost), paged), "paged");
  EXPECT_EQ(with(of(0, 8), paged), "page size = 0 is not within 1 to 2048 (rule fmha.shape.page-size)");
  EXPECT_EQ(with(of(2049, 8), paged), "page size = 2049 is not within 1 to 2048 (rule fmha.shape.page-size)");
  EXPECT_EQ(with(of(16, -1), paged), "pages = -1 is not within 0 to 2147483647 (rule fmha.shape.pages)");
  EXPECT_EQ(with(of(16, kMost + 1), paged), "pages = 2147483648 is not within 0 to 2147483647 (rule fmha.shape.pages)");
  EXPECT_EQ(with(of(24, 8), paged), "page size = 24 is not a multiple of 16 (rule fmha.instance.page-multiple)");
  EXPECT_EQ(with(of(-5, -5)), "any");
}

TEST_F(FmhaRules, KeysAndSinkTokensMayBeLimited) {
  FmhaTraits traits;
  traits.masked = true;
  const Signature masked = attention(traits);
  FmhaConfig limited = padded(64, 64, 256, 256);
  limited.max_keys = 1000;
  limited.sink_tokens = false;
  add("limited", limited, masked);
  EXPECT_EQ(with([](FmhaShape& x) { x.seqlen_k = 1000; }, masked), "limited");
  EXPECT_EQ(with([](FmhaShape& x) { x.seqlen_k = 1001; }, masked),
            "seqlen_k = 1001 is above 1000 (rule fmha.instance.max-keys)");
  EXPECT_EQ(with([](FmhaShape& x) { x.seqlen_k = 10, x.sink_tokens = 3; }, masked),
            "3 sink tokens are asked for, and the instance takes none (rule fmha.instance.sink-tokens)");
}

TEST_F(FmhaRules, ACacheThatIsCountedHasAKnownSize) {
  FmhaTraits traits;
  traits.kv = FmhaKv::page_list;
  const Signature list = attention(traits);
  FmhaConfig counted = padded(64, 64, 256, 256);
  counted.cache_limit = 1 << 20;
  add("counted", counted, list);
  const auto of = [](std::int64_t count) {
    return [=](FmhaShape& x) {
      x.page_size = 16, x.pages = count, x.heads_q = x.heads_k = 2, x.hdim_q = 64, x.hdim_v = 128;
    };
  };
  EXPECT_EQ(with(of(256), list), "counted");
  EXPECT_EQ(with(of(257), list), "a cache of 4112 rows is not within 1 to 4096 (rule fmha.instance.cache)");
  EXPECT_EQ(with(of(0), list), "a cache of 0 rows is not within 1 to 4096 (rule fmha.instance.cache)");
}

TEST_F(FmhaRules, RowsOfDifferingSequencesAreCounted) {
  FmhaTraits traits;
  traits.varlen = true;
  const Signature varlen = attention(traits);
  add("varlen", padded(64, 64, 256, 256), varlen);
  const auto total = [](std::int64_t rows) { return [=](FmhaShape& x) { x.total_q = rows; }; };
  EXPECT_EQ(with(total(0), varlen), "varlen");
  EXPECT_EQ(with(total(kMost), varlen), "varlen");
  EXPECT_EQ(with(total(-1), varlen),
            "rows of all query sequences = -1 are not within 0 to 2147483647 (rule fmha.shape.total-q)");
  EXPECT_EQ(with(total(kMost + 1), varlen),
            "rows of all query sequences = 2147483648 are not within 0 to 2147483647 (rule fmha.shape.total-q)");
  EXPECT_EQ(with(total(-1)), "any");
}

TEST_F(FmhaRules, PagesInVectorsAreOfWholeOnes) {
  FmhaTraits traits;
  traits.kv = FmhaKv::block_table;
  traits.kv_layout = FmhaKvLayout::vectorized;
  add("paged", padded(64, 32, 128, 128), attention(traits));
  FmhaShape shape = sizes(1, 1, 1, 7, 9, 64, 64);
  shape.page_size = 12;
  EXPECT_EQ(chosen(shape, attention(traits)),
            "12 elements are no whole vectors of 8, of which pages consist (rule fmha.shape.vectors)");
  shape.page_size = 16;
  EXPECT_EQ(chosen(shape, attention(traits)), "paged");
  shape.hdim_q = 60;
  EXPECT_EQ(chosen(shape, attention(traits)),
            "60 elements are no whole vectors of 8, of which pages consist (rule fmha.shape.vectors)");
  Signature untyped = attention(traits);
  untyped.b = DType::none;
  EXPECT_EQ(chosen(shape, untyped),
            "60 elements are no whole vectors of 128, of which pages consist (rule fmha.shape.vectors)");
}

}  // namespace test_fmha_rules
