// What an attention instance costs, and how its splits of keys are found.
#include "fmha/fmha_fixture.hpp"
#include "src/fmha/cost.hpp"

#include <utility>
#include <vector>

namespace test_fmha_cost {

using namespace ckgen;
using tiny::exact;
using tiny::padded;
using tiny::sizes;

detail::Wide cost_of(const FmhaConfig& c, const FmhaShape& x, std::uint32_t cus, std::uint64_t splits = 1) {
  const detail::FmhaAsked asked({}, x, cus);
  return detail::FmhaWork(c, asked).cost(splits);
}

/// The mean, row by row.
std::uint64_t counted_columns(const FmhaShape& x) {
  const std::int64_t shift = x.corner == FmhaCorner::top_left ? 0 : x.seqlen_k - x.seqlen_q;
  std::int64_t seen = 0;
  for (std::int64_t i = 0; i < x.seqlen_q; ++i) {
    for (std::int64_t j = 0; j < x.seqlen_k; ++j) {
      const bool right = x.window_right < 0 || j <= i + shift + x.window_right;
      const bool left = x.window_left < 0 || j >= i + shift - x.window_left;
      seen += right && left ? 1 : 0;
    }
  }
  return static_cast<std::uint64_t>((seen + x.seqlen_q - 1) / x.seqlen_q);
}

TEST(FmhaCost, ColumnsAreTheMeanOfWhatRowsSee) {
  FmhaTraits traits;
  traits.masked = true;
  for (const std::int64_t rows : {1, 2, 7, 12}) {
    for (const std::int64_t columns : {0, 1, 5, 12, 20}) {
      for (const std::int32_t left : {-1, 0, 1, 4, 30}) {
        for (const std::int32_t right : {-1, 0, 1, 4, 30}) {
          for (const FmhaCorner corner : {FmhaCorner::top_left, FmhaCorner::bottom_right}) {
            FmhaShape x = sizes(1, 1, 1, rows, columns, 64, 64);
            x.corner = corner;
            x.window_left = left;
            x.window_right = right;
            EXPECT_EQ(detail::mean_columns(traits, x), counted_columns(x))
                << rows << ' ' << columns << ' ' << left << ' ' << right << ' ' << name(corner);
          }
        }
      }
    }
  }
}

TEST(FmhaCost, TheLargestProblemDoesNotWrapAround) {
  constexpr std::int64_t most = 2147483647;
  const FmhaShape x = sizes(most, 65535, 1, most, most, 256, 256);
  FmhaConfig c = padded(16, 1, 256, 256);
  const detail::Wide small = cost_of(c, sizes(most, 65535, 1, most, most / 2, 256, 256), 1);
  c.n1 = 16;
  const detail::Wide large = cost_of(c, x, 1);
  EXPECT_GT(large >> 100, 0);
  EXPECT_TRUE(large > small);
  EXPECT_TRUE(large / 16 > small) << "sixteen times the workgroups and twice the columns";
  c.m0 = 1;
  EXPECT_TRUE(cost_of(c, x, 1) == ~detail::Wide{0}) << "more than 128 bits count";
}

TEST(FmhaCost, IsRoundsTimesTheProductsOfOneAndThenPads) {
  const FmhaShape x = sizes(2, 8, 8, 100, 130, 64, 64);
  // ceil(100 / 64) * 2 * 8 = 32 workgroups on 10 CUs: 4 rounds of 64 rows and 64 more, 192 columns and 128 + 96
  // elements.
  EXPECT_TRUE(cost_of(padded(64, 64, 128, 96), x, 10) == detail::Wide{4} * 128 * 192 * 224 * 8 + 4);
  EXPECT_TRUE(cost_of(exact(64, 64, 128, 96), x, 10) == detail::Wide{4} * 128 * 192 * 224 * 8);
}

constexpr FmhaConfig split(std::int32_t m0, std::int32_t n0, std::int32_t most) {
  FmhaConfig c = padded(m0, n0, 128, 128);
  c.max_splits = most;
  return c;
}

std::vector<std::uint32_t> weighed(const FmhaConfig& c, const FmhaShape& x, std::uint32_t cus) {
  std::vector<std::uint32_t> found;
  const detail::FmhaAsked asked({}, x, cus);
  detail::FmhaWork(c, asked).each_splits([&](std::uint32_t splits, detail::Wide) { found.push_back(splits); });
  return found;
}

TEST(FmhaCost, OfSplitsHasTheLongestPartAndTheCombining) {
  const FmhaShape x = sizes(1, 8, 8, 1, 1000, 128, 128);
  // 8 workgroups of 5 splits on 10 CUs: 4 rounds of 64 + 64 rows and 200 keys, in tiles of 64, and 4 more per row.
  EXPECT_TRUE(cost_of(split(64, 64, 8), x, 10, 5) == (detail::Wide{4} * 128 * (256 + 4) + (1 << 14)) * 256 * 8 + 4);
  FmhaConfig always = split(64, 64, 8);
  always.always_combines = true;
  EXPECT_TRUE(cost_of(always, x, 10) == (detail::Wide{1} * 128 * (1024 + 4) + (1 << 14)) * 256 * 8 + 4);
}

TEST(FmhaCost, SplitsBehindTheLastKeyWriteWithoutWorking) {
  // 6 splits of 2 of 10 keys: 5 of them, on 5 CUs, work in a round, all write in two.
  const FmhaShape x = sizes(1, 1, 1, 1, 10, 128, 128);
  EXPECT_TRUE(cost_of(split(64, 2, 8), x, 5, 6) == (detail::Wide{128} * (2 + 2 * 4) + (1 << 14)) * 256 * 8 + 4);
}

TEST(FmhaCost, MergedHeadsAreRowsOfOneTile) {
  FmhaConfig merged = split(64, 64, 8);
  merged.merge_heads = true;
  const FmhaShape x = sizes(3, 32, 4, 5, 1024, 128, 128);
  // 5 rows of 8 heads are 40 of a tile: 3 * 4 workgroups instead of 3 * 32.
  EXPECT_TRUE(cost_of(merged, x, 4) == detail::Wide{3} * 128 * 1024 * 256 * 8 + 4);
  EXPECT_TRUE(cost_of(split(64, 64, 8), x, 4) == detail::Wide{24} * 128 * 1024 * 256 * 8 + 4);
}

FmhaConfig together() {
  FmhaConfig c = split(64, 64, 128);
  c.merge_heads = c.takes_items = true, c.rows_together = 32;
  return c;
}

TEST(FmhaCost, HeadsThatAWorkgroupTakesAreSharedWhereThereAreFew) {
  const FmhaShape x = sizes(1, 32, 8, 1, 65536, 128, 128);
  const FmhaConfig c = together();
  constexpr detail::Wide column = detail::Wide{128} * 256 * 8;
  EXPECT_TRUE(cost_of(c, x, 1) == 8 * 65536 * column + 4) << "eight heads, one after the other";
  EXPECT_TRUE(cost_of(c, x, 2) == (4 + 1) * 65536 * column + 4) << "four each, and a quarter more";
  EXPECT_TRUE(cost_of(c, x, 64) == (1 + 1) * 65536 * column + 4) << "no more than there are";
  EXPECT_TRUE(cost_of(c, x, 2, 2) == 8 * (32768 + 4) * column + (detail::Wide{1 << 18} * 256 * 8) + 4);
  FmhaShape prefill = x;
  prefill.seqlen_q = 9;  // 36 rows: each head has workgroups of its own
  EXPECT_TRUE(cost_of(c, prefill, 2) == 4 * 65536 * column + 4);
}

TEST(FmhaCost, OneLongRequestIsSplitAmongThreadsAndAShortOneIsNot) {
  const auto splits = [](std::int64_t batch, std::int64_t keys, std::uint32_t threads) {
    return detail::best_splits(together(), {}, sizes(batch, 32, 8, 1, keys, 128, 128), threads).splits;
  };
  EXPECT_EQ(splits(1, 65536, 2), 2U);
  EXPECT_EQ(splits(1, 1024, 2), 1U);
  EXPECT_EQ(splits(2, 65536, 2), 1U) << "a request each";
  EXPECT_EQ(splits(1, 65536, 1), 1U);
  EXPECT_EQ(splits(3, 65536, 64), 64U) << "one fewer than threads would share heads";
}

TEST(FmhaCost, OfAWindowAPartIsNoLongerThanIt) {
  FmhaTraits traits;
  traits.masked = true;
  FmhaShape x = sizes(1, 8, 8, 1, 100000, 128, 128);
  x.window_left = 4095;
  const FmhaConfig c = split(64, 64, 128);
  const detail::FmhaAsked asked(traits, x, 304);
  EXPECT_TRUE(detail::FmhaWork(c, asked).cost(2) > detail::FmhaWork(c, asked).cost(1))
      << "half of all keys are more than the window";
  EXPECT_EQ(detail::best_splits(c, traits, x, 304).splits, 121U) << "of 827 keys, of which the window meets 6";
  EXPECT_EQ(detail::best_splits(split(64, 64, 8), traits, x, 304).splits, 1U) << "parts longer than the window";
  FmhaConfig scheduled = c;
  scheduled.takes_items = true;
  EXPECT_EQ(detail::best_splits(scheduled, traits, x, 304).splits, 32U) << "of what rows see";
}

TEST(FmhaCost, SplitsAreTheFewestOfAsLongPartsThatFillARound) {
  const FmhaShape x = sizes(1, 8, 8, 1, 65536, 128, 128);
  EXPECT_EQ(weighed(split(64, 128, 128), x, 304), (std::vector<std::uint32_t>{1, 37, 74, 103}));
  EXPECT_EQ(weighed(split(64, 128, 40), x, 304), (std::vector<std::uint32_t>{1, 37, 40}));
  EXPECT_EQ(weighed(split(64, 128, 1), x, 304), (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(weighed(split(64, 128, 128), sizes(1, 8, 8, 1, 300, 128, 128), 304), (std::vector<std::uint32_t>{1, 3}));
  EXPECT_EQ(weighed(split(64, 128, 128), sizes(1, 8, 8, 1, 0, 128, 128), 304), (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(weighed(split(64, 128, 128), sizes(1, 8, 8, 0, 300, 128, 128), 304), (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(weighed(split(64, 128, 128), sizes(26, 8, 8, 1, 65536, 128, 128), 304),
            (std::vector<std::uint32_t>{1, 2, 4}));
  EXPECT_EQ(weighed(split(64, 128, 128), sizes(77, 8, 8, 1, 65536, 128, 128), 304), (std::vector<std::uint32_t>{1}));
  FmhaShape scheduled = x;
  scheduled.split_items = 9;
  EXPECT_EQ(weighed(split(64, 128, 128), scheduled, 304), (std::vector<std::uint32_t>{1}));
}

}  // namespace test_fmha_cost
