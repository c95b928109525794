// Room for split-KV plans: bounds hold every batch within their maxima, slices of workspaces are aligned.
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "fmha_split_fixture.hpp"

namespace {

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
    const Plan padded = plan_in(p, *bound);
    EXPECT_LE(padded.sizes.partial_rows, bound->partial_rows);
    EXPECT_LE(padded.sizes.max_splits, bound->max_splits);
    expect_covered(p, padded);
    const Plan own = plan_of(p);
    for (std::size_t i = 0; i < own.items.size(); ++i)
      ASSERT_EQ(std::memcmp(&own.items[i], &padded.items[i], sizeof(FmhaSplitItem)), 0) << i;
  }
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

}  // namespace
