// Room for split-KV plans: bounds hold every batch within their maxima, slices of workspaces are aligned.
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "fmha/fmha_split_fixture.hpp"

namespace test_fmha_split_bound {

using namespace split_test;

TEST(FmhaSplitBound, ABoundHoldsEveryBatchWithinTheMaxima) {
  std::mt19937 random{11};
  const auto below = [&](std::uint32_t n) { return static_cast<std::int32_t>(random() % n); };
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(testing::Message() << "round " << round);
    const std::int32_t most_q = 1 + below(70);
    const std::int32_t most_k = below(2000);
    Batch batch;
    std::int64_t total_q = 0;
    for (std::int32_t b = 1 + below(6); b > 0; --b) {
      batch.q.push_back(below(static_cast<std::uint32_t>(most_q + 1)));
      batch.k.push_back(below(2) == 0 ? most_k : below(static_cast<std::uint32_t>(most_k + 1)));
      total_q += batch.q.back();
    }
    FmhaSplitProblem p = problem_of(batch);
    p.heads_q = 4;
    p.heads_k = 2;
    p.merge_heads = below(2) == 0;
    p.n0 = 16;
    p.cu_num = 1 + below(100);
    p.mask.masked = below(2) == 0;
    p.mask.window_left = below(200) - 1;
    p.mask.sink_tokens = below(40);
    p.fixed_split_size = below(3) == 0 ? 64 : 0;
    const auto bound = fmha_split_bound(p, {most_q, most_k, below(2) == 0 ? total_q : 0});
    ASSERT_TRUE(bound) << bound.status().message;
    const SplitPlan padded = plan_in(p, *bound);
    EXPECT_LE(padded.sizes.partial_rows, bound->partial_rows);
    EXPECT_LE(padded.sizes.max_splits, bound->max_splits);
    expect_covered(p, padded);
    const SplitPlan own = plan_of(p);
    for (std::size_t i = 0; i < own.items.size(); ++i)
      ASSERT_EQ(std::memcmp(&own.items[i], &padded.items[i], sizeof(FmhaSplitItem)), 0) << i;
  }
}

/// Of three requests whose rows are those of two heads, in tiles of 16 rows; two heads of KV are a workgroup each.
class FmhaSplitBoundSizes : public testing::Test {
 protected:
  FmhaSplitBoundSizes() {
    p_.batch = 3;
    p_.heads_q = 4;
    p_.heads_k = 2;
    p_.merge_heads = true;
    p_.m0 = 16;
    p_.n0 = 64;
    p_.cu_num = 80;
    p_.hdim_v = 128;
  }
  using Sizes = std::vector<std::int64_t>;
  /// Items, combine items, partial rows, most splits, heads.
  Sizes bound(const FmhaSplitMaxima& maxima) const {
    const auto found = fmha_split_bound(p_, maxima);
    EXPECT_TRUE(found) << found.status().message;
    return {found->items, found->combine_items, found->partial_rows, found->max_splits, found->heads};
  }
  std::string refusal(const FmhaSplitMaxima& maxima) const {
    const auto found = fmha_split_bound(p_, maxima);
    return found ? "" : found.status().message;
  }
  FmhaSplitProblem p_;
};

TEST_F(FmhaSplitBoundSizes, AreNoLargerThanNeeded) {
  EXPECT_EQ(bound({20, 1000, 0}), (Sizes{9 * 16, 9, 9 * 16 * 16, 16, 2}));
  EXPECT_EQ(bound({20, 1000, 30}), (Sizes{6 * 16, 6, 6 * 16 * 16, 16, 2})) << "60 rows are 3 tiles, and 3 begun ones";
  EXPECT_EQ(bound({3, 1000, 0}), (Sizes{3 * 16, 3, 3 * 16 * 6, 16, 2})) << "tiles of 6 rows";
  EXPECT_EQ(bound({20, 0, 0}), (Sizes{9, 0, 0, 1, 2}));
  p_.max_splits = 5;
  EXPECT_EQ(bound({20, 1000, 0}), (Sizes{9 * 5, 9, 9 * 5 * 16, 5, 2}));
  p_.max_splits = 128;
  p_.cu_num = 10;
  EXPECT_EQ(bound({20, 1000, 0}), (Sizes{29, 9, 29 * 16, 16, 2})) << "four waves of ten are 20 items of two";
  p_.cu_num = 3;
  EXPECT_EQ(bound({20, 1000, 0}), (Sizes{15, 6, 12 * 16, 7, 2}));
  p_.no_split = true;
  EXPECT_EQ(bound({20, 1000, 0}), (Sizes{9, 0, 0, 1, 2}));
}

TEST_F(FmhaSplitBoundSizes, OfFixedSplitsAreThoseOfTheLongestKeys) {
  p_.fixed_split_size = 128;
  EXPECT_EQ(bound({20, 1000, 0}), (Sizes{9 * 8, 9, 9 * 8 * 16, 8, 2}));
  EXPECT_EQ(bound({20, 128, 0}), (Sizes{9, 0, 0, 1, 2}));
  EXPECT_EQ(bound({20, 129, 0}), (Sizes{18, 9, 18 * 16, 2, 2}));
  p_.max_splits = 7;
  EXPECT_EQ(refusal({20, 1000, 0}), "fixed_split_size = 128 makes 8 splits, more than max_splits = 7");
}

TEST_F(FmhaSplitBoundSizes, AWindowOnBothSidesBoundsTheKeys) {
  const Sizes all{9 * 16, 9, 9 * 16 * 16, 16, 2};
  p_.mask.window_left = 100;
  p_.mask.window_right = 0;
  p_.mask.sink_tokens = 0;
  p_.mask.masked = false;
  EXPECT_EQ(bound({20, 1000, 0}), all);
  p_.mask.masked = true;
  EXPECT_EQ(bound({20, 1000, 0}), (Sizes{9 * 3, 9, 9 * 3 * 16, 3, 2})) << "109 columns touch three units";
  p_.mask.window_left = 120;
  EXPECT_EQ(bound({20, 1000, 0}), (Sizes{9 * 4, 9, 9 * 4 * 16, 4, 2})) << "129 columns touch four";
  p_.mask.window_left = 119;
  EXPECT_EQ(bound({20, 1000, 0}), (Sizes{9 * 3, 9, 9 * 3 * 16, 3, 2})) << "128 columns touch three";
  p_.mask.window_right = 1;
  EXPECT_EQ(bound({20, 1000, 0}), (Sizes{9 * 4, 9, 9 * 4 * 16, 4, 2}));
  p_.mask.window_right = 0;
  p_.mask.sink_tokens = 65;
  EXPECT_EQ(bound({20, 1000, 0}), (Sizes{9 * 5, 9, 9 * 5 * 16, 5, 2})) << "65 sinks are in two units more";
  EXPECT_EQ(bound({20, 100, 0}), (Sizes{9 * 2, 9, 9 * 2 * 16, 2, 2})) << "no more than all keys";
  p_.fixed_split_size = 128;
  EXPECT_EQ(bound({20, 1000, 0}), (Sizes{9 * 3, 9, 9 * 3 * 16, 3, 2}));
  p_.fixed_split_size = 0;
  p_.mask.window_right = -1;
  EXPECT_EQ(bound({20, 1000, 0}), all);
  p_.mask.window_right = 0;
  p_.mask.window_left = -1;
  EXPECT_EQ(bound({20, 1000, 0}), all);
}

TEST_F(FmhaSplitBoundSizes, MaximaOutOfRangeAreRefused) {
  EXPECT_EQ(refusal({-1, 1, 0}), "maxima.seqlen_q = -1 is outside [0, 1073741823]");
  EXPECT_EQ(refusal({1 << 30, 1, 0}), "maxima.seqlen_q = 1073741824 is outside [0, 1073741823]");
  EXPECT_EQ(refusal({(1 << 30) - 1, 1, 1}), "");
  EXPECT_EQ(refusal({0, 0, 0}), "");
  EXPECT_EQ(refusal({1, -1, 0}), "maxima.seqlen_k = -1 is outside [0, 2147483647]");
  EXPECT_EQ(refusal({20, 1, -1}), "maxima.total_q = -1 is outside [0, 60]");
  EXPECT_EQ(refusal({20, 1, 61}), "maxima.total_q = 61 is outside [0, 60]");
  EXPECT_EQ(refusal({20, 1, 60}), "");
  p_.max_workgroups = 17;
  EXPECT_EQ(refusal({20, 1, 0}), "9 items of 2 workgroups are more than max_workgroups = 17");
  p_.max_workgroups = 18;
  EXPECT_EQ(refusal({20, 1, 0}), "");
  EXPECT_EQ(refusal({20, 1000, 0}), "144 items of 2 workgroups are more than max_workgroups = 18");
}

TEST(FmhaSplitBound, WorkspacesHaveAlignedSlices) {
  const FmhaSplitSizes sizes{10, 3, 100, 4, 8};
  const auto room = fmha_split_workspace(sizes, 5, 128);
  ASSERT_TRUE(room);
  const std::vector<std::int64_t> bytes{100 * 8 * 128 * 4, 100 * 8 * 4, 10 * 32, 3 * 24, 5 * 4, 6 * 8};
  std::int64_t end = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const FmhaSplitSlice& slice = room->slices[i];
    EXPECT_EQ(slice.bytes, bytes[i]) << slice.name;
    EXPECT_EQ(slice.offset, (end + 255) / 256 * 256) << slice.name;
    EXPECT_FALSE(slice.zero) << slice.name;  // whatever is read has been written by the plan's own kernels
    end = slice.offset + slice.bytes;
  }
  EXPECT_EQ(room->total, end);
}

TEST(FmhaSplitBound, SizesBeyond64BitsAreRefused) {
  const auto told = [](const FmhaSplitSizes& sizes, std::int32_t hdim_v) {
    const auto found = fmha_split_workspace(sizes, 1, hdim_v);
    return std::string{found ? "" : found.status().message};
  };
  EXPECT_EQ(told({1, 1, std::int64_t{1} << 40, 2, 64}, 128), "");
  EXPECT_EQ(told({1, 1, std::int64_t{1} << 58, 2, 64}, 128), "o_acc: the workspace is larger than 2^63 bytes");
  EXPECT_EQ(told({1, 1, std::int64_t{1} << 50, 2, 64}, 128), "o_acc: the workspace is larger than 2^63 bytes");
  EXPECT_EQ(told({1, 1, std::int64_t{1} << 60, 2, 1}, 1), "lse_acc: the workspace is larger than 2^63 bytes");
  EXPECT_EQ(told({-1, 1, 1, 2, 1}, 1), "items = -1 is below 0");
}

}  // namespace test_fmha_split_bound
