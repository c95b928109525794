// Split-KV plans against visibility itself, cell by cell; sizes, bounds, refusals.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <ckgen/fmha_split.hpp>

#include "counted_new.hpp"

namespace {

using namespace ckgen;

struct Batch {
  std::vector<std::int32_t> q, k;
};

FmhaSplitProblem problem_of(const Batch& batch) {
  FmhaSplitProblem p;
  p.batch = static_cast<std::int32_t>(batch.q.size());
  p.seqlen_q = batch.q.data();
  p.seqlen_k = batch.k.data();
  p.hdim_v = 128;
  p.m0 = 16;
  p.n0 = 64;
  p.cu_num = 80;
  return p;
}

struct Plan {
  FmhaSplitSizes sizes;
  std::vector<FmhaSplitItem> items;
  std::vector<FmhaCombineItem> combine;
  std::vector<std::int32_t> splits;
  std::vector<std::int64_t> indptr;
};

Plan plan_in(const FmhaSplitProblem& p, const FmhaSplitSizes& room) {
  Plan plan{{},
            std::vector<FmhaSplitItem>(static_cast<std::size_t>(room.items)),
            std::vector<FmhaCombineItem>(static_cast<std::size_t>(room.combine_items)),
            std::vector<std::int32_t>(static_cast<std::size_t>(p.batch)),
            std::vector<std::int64_t>(static_cast<std::size_t>(p.batch) + 1)};
  const auto made = fmha_split_plan(p, {plan.items.data(), room.items, plan.combine.data(), room.combine_items,
                                        plan.splits.data(), plan.indptr.data()});
  EXPECT_TRUE(made) << made.status().message;
  plan.sizes = *made;
  return plan;
}

Plan plan_of(const FmhaSplitProblem& p) {
  const auto sizes = fmha_split_sizes(p);
  EXPECT_TRUE(sizes) << sizes.status().message;
  return plan_in(p, *sizes);
}

/// visible() of ckgen/fmha.hpp, written out.
bool visible(const FmhaMask& mask, std::int64_t length_q, std::int64_t length_k, std::int64_t i, std::int64_t j) {
  if (j >= length_k) return false;
  if (!mask.masked) return true;
  const std::int64_t at = i + (mask.corner == FmhaCorner::top_left ? 0 : length_k - length_q);
  if (mask.window_right >= 0 && j > at + mask.window_right) return false;
  return j < mask.sink_tokens || mask.window_left < 0 || j >= at - mask.window_left;
}

/// Every visible cell is in exactly one item; parts, partial rows and combine items fit together.
void expect_covered(const FmhaSplitProblem& p, const Plan& plan) {
  const std::int64_t group = p.merge_heads ? p.heads_q / p.heads_k : 1;
  EXPECT_EQ(plan.sizes.heads, p.merge_heads ? p.heads_k : p.heads_q);
  std::map<std::pair<std::int32_t, std::int32_t>, std::vector<FmhaSplitItem>> parts;
  for (std::int64_t i = 0; i < plan.sizes.items; ++i) {
    const FmhaSplitItem& item = plan.items[static_cast<std::size_t>(i)];
    ASSERT_GE(item.request, 0);
    parts[{item.request, item.q_tile}].push_back(item);
  }
  std::int64_t partial = 0;
  std::size_t combined = 0;
  std::size_t tiles = 0;
  for (std::int32_t b = 0; b < p.batch; ++b) {
    const std::int64_t rows = p.seqlen_q[b] * group;
    const std::int64_t length_k = p.seqlen_k[b];
    std::int32_t most = 0;
    EXPECT_EQ(plan.indptr[static_cast<std::size_t>(b)], partial);
    for (std::int32_t tile = 0; tile * std::int64_t{p.m0} < rows; ++tile, ++tiles) {
      SCOPED_TRACE(testing::Message() << "request " << b << " tile " << tile);
      auto& found = parts[{b, tile}];
      ASSERT_FALSE(found.empty());
      std::sort(found.begin(), found.end(), [](const auto& x, const auto& y) { return x.split < y.split; });
      const auto n = static_cast<std::int32_t>(found.size());
      const std::int64_t first = tile * std::int64_t{p.m0};
      const std::int64_t own = std::min<std::int64_t>(p.m0, rows - first);
      std::vector<int> seen(static_cast<std::size_t>(length_k), 0);
      for (std::int32_t s = 0; s < n; ++s) {
        const FmhaSplitItem& item = found[static_cast<std::size_t>(s)];
        EXPECT_EQ(item.split, s);
        EXPECT_EQ(item.splits, n);
        EXPECT_EQ(item.partial_row, n == 1 ? -1 : partial + s * own);
        EXPECT_EQ(item.kv_begin % p.n0, 0);
        ASSERT_LE(item.kv_end, length_k);
        if (n > 1) {
          EXPECT_LT(item.kv_begin, item.kv_end);
        }
        if (s > 0 && found[static_cast<std::size_t>(s - 1)].kv_end == item.kv_begin && p.page_size > 0) {
          EXPECT_EQ(item.kv_begin % p.page_size, 0);
        }
        for (std::int32_t j = item.kv_begin; j < item.kv_end; ++j) ++seen[static_cast<std::size_t>(j)];
      }
      for (std::int64_t j = 0; j < length_k; ++j) {
        bool any = false;
        for (std::int64_t r = first; r < first + own; ++r)
          any |= visible(p.mask, p.seqlen_q[b], length_k, r / group, j);
        ASSERT_LE(seen[static_cast<std::size_t>(j)], 1) << "column " << j;
        if (any) {
          ASSERT_EQ(seen[static_cast<std::size_t>(j)], 1) << "column " << j;
        }
      }
      most = std::max(most, n);
      if (n == 1) continue;
      ASSERT_LT(combined, plan.combine.size());
      const FmhaCombineItem& c = plan.combine[combined++];
      EXPECT_TRUE(c.request == b && c.q_tile == tile && c.splits == n && c.rows == own && c.partial_row == partial);
      partial += n * own;
    }
    EXPECT_EQ(plan.splits[static_cast<std::size_t>(b)], most);
    EXPECT_LE(most, p.max_splits);
    EXPECT_LE(most, std::max(plan.sizes.max_splits, 1));
  }
  EXPECT_EQ(plan.indptr.back(), partial);
  EXPECT_EQ(plan.sizes.partial_rows, partial);
  EXPECT_EQ(plan.sizes.combine_items, static_cast<std::int64_t>(combined));
  EXPECT_EQ(parts.size(), tiles);
  for (auto i = static_cast<std::size_t>(plan.sizes.items); i < plan.items.size(); ++i)
    EXPECT_TRUE(plan.items[i].request == -1 && plan.items[i].partial_row == -1);
  for (std::size_t i = combined; i < plan.combine.size(); ++i) EXPECT_EQ(plan.combine[i].request, -1);
}

std::string refusal(const FmhaSplitProblem& p) {
  const auto found = fmha_split_sizes(p);
  return found ? "" : found.status().message;
}

TEST(FmhaSplit, EveryVisibleCellIsInOneItem) {
  std::mt19937 random{7};
  const auto below = [&](std::uint32_t n) { return static_cast<std::int32_t>(random() % n); };
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(testing::Message() << "round " << round);
    Batch batch;
    for (std::int32_t b = below(5) + 1; b > 0; --b) {
      batch.q.push_back(below(3) == 0 ? below(90) : below(2));
      batch.k.push_back(below(4) == 0 ? 0 : below(900));
    }
    FmhaSplitProblem p = problem_of(batch);
    p.merge_heads = below(2) == 0;
    p.heads_k = 1 + below(3);
    p.heads_q = p.heads_k * (1 + below(4));
    p.n0 = 8 << below(3);
    p.page_size = std::array{0, 1, 16, 48, 128}[static_cast<std::size_t>(below(5))];
    p.mask.masked = below(4) != 0;
    p.mask.corner = below(2) == 0 ? FmhaCorner::top_left : FmhaCorner::bottom_right;
    p.mask.window_left = below(2) == 0 ? -1 : below(150);
    p.mask.window_right = below(3) == 0 ? -1 : below(20);
    p.mask.sink_tokens = below(2) == 0 ? 0 : below(200);
    p.occupancy = 1 + below(3);
    p.max_splits = below(3) == 0 ? 1 + below(6) : 128;
    p.no_split = below(8) == 0;
    if (!p.no_split && p.page_size != 48 && below(4) == 0) {
      p.fixed_split_size = 128 * (1 + below(2));
      p.max_splits = 128;
    }
    expect_covered(p, plan_of(p));
  }
}

TEST(FmhaSplit, AStragglerIsSplitAndTheOthersAreNot) {
  Batch batch{std::vector<std::int32_t>(64, 1), std::vector<std::int32_t>(64, 256)};
  batch.k[17] = 65536;
  FmhaSplitProblem p = problem_of(batch);
  p.heads_q = p.heads_k = 8;
  p.occupancy = 2;
  const Plan plan = plan_of(p);
  EXPECT_GT(plan.splits[17], 8);
  for (std::size_t b = 0; b < 64; ++b) {
    if (b != 17) {
      EXPECT_EQ(plan.splits[b], 1);
    }
  }
  EXPECT_EQ(plan.items[0].request, 17);  // the longest come first
  expect_covered(p, plan);
}

TEST(FmhaSplit, ManyEqualRequestsAreNotSplit) {
  const Batch batch{std::vector<std::int32_t>(80, 1), std::vector<std::int32_t>(80, 4096)};
  const Plan plan = plan_of(problem_of(batch));
  EXPECT_EQ(plan.sizes.max_splits, 1);
  EXPECT_EQ(plan.sizes.partial_rows, 0);
}

TEST(FmhaSplit, AWindowShortensTheKeys) {
  const Batch batch{{1}, {100000}};
  FmhaSplitProblem p = problem_of(batch);
  p.mask.masked = true;
  p.mask.window_left = 127;
  p.no_split = true;
  const Plan plan = plan_of(p);
  ASSERT_EQ(plan.sizes.items, 1);
  EXPECT_EQ(plan.items[0].kv_begin, 99872 / 64 * 64);
  EXPECT_EQ(plan.items[0].kv_end, 100000);
}

TEST(FmhaSplit, FixedSplitsDoNotDependOnTheBatch) {
  const auto parts_of = [](const Batch& batch, std::int32_t request) {
    FmhaSplitProblem p = problem_of(batch);
    p.fixed_split_size = 1024;
    std::vector<std::pair<std::int32_t, std::int32_t>> parts;
    for (const FmhaSplitItem& item : plan_of(p).items)
      if (item.request == request) parts.emplace_back(item.kv_begin, item.kv_end);
    std::sort(parts.begin(), parts.end());
    return parts;
  };
  const auto alone = parts_of({{1}, {5000}}, 0);
  EXPECT_EQ(alone, parts_of({{1, 1, 64}, {70000, 5000, 100}}, 1));
  EXPECT_EQ(alone.size(), 5U);
}

TEST(FmhaSplit, ABoundHoldsEveryBatchWithinTheMaxima) {
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

TEST(FmhaSplit, APlanAllocatesNothing) {
  const Batch batch{{1, 40, 1}, {5000, 300, 60000}};
  const FmhaSplitProblem p = problem_of(batch);
  Plan plan = plan_of(p);
  const long before = allocations();
  const auto made = fmha_split_plan(p, {plan.items.data(), plan.sizes.items, plan.combine.data(),
                                        plan.sizes.combine_items, plan.splits.data(), plan.indptr.data()});
  const long after = allocations();
  EXPECT_TRUE(made);
  EXPECT_EQ(after, before);
}

TEST(FmhaSplit, WorkspacesHaveAlignedSlices) {
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

TEST(FmhaSplit, SizesBeyond64BitsAreRefused) {
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

TEST(FmhaSplit, ARefusalNamesTheField) {
  const Batch batch{{1, 1}, {100, 65536}};
  const FmhaSplitProblem good = problem_of(batch);
  const auto with = [&](auto change) {
    FmhaSplitProblem p = good;
    change(p);
    return refusal(p);
  };
  EXPECT_EQ(refusal(good), "");
  EXPECT_EQ(with([](auto& p) { p.seqlen_k = nullptr; }), "seqlen_k is null");
  EXPECT_EQ(with([](auto& p) { p.batch = 0; }), "batch = 0 is outside [1, 2147483646]");
  EXPECT_EQ(with([](auto& p) { p.heads_q = 3, p.heads_k = 2; }), "heads_q = 3 is no multiple of heads_k = 2");
  EXPECT_EQ(with([](auto& p) { p.m0 = 0; }), "m0 = 0 is outside [1, 65536]");
  EXPECT_EQ(with([](auto& p) { p.cu_num = 0; }), "cu_num = 0 is outside [1, 1048576]");
  EXPECT_EQ(with([](auto& p) { p.mask.window_left = -2; }), "mask.window_left = -2 is outside [-1, 2147483647]");
  EXPECT_EQ(with([](auto& p) { p.fixed_split_size = 100; }),
            "fixed_split_size = 100 is no multiple of n0 = 64 and of page_size = 0");
  EXPECT_EQ(with([](auto& p) { p.fixed_split_size = 64, p.no_split = true; }),
            "fixed_split_size = 64 contradicts no_split");
  EXPECT_EQ(with([](auto& p) { p.fixed_split_size = 64; }),
            "fixed_split_size = 64 makes 1024 splits, more than max_splits = 128");
  EXPECT_EQ(with([](auto& p) { p.max_workgroups = 1; }), "2 items of 1 heads are more than max_workgroups = 1");
  const Batch negative{{1, -1}, {1, 1}};
  EXPECT_EQ(refusal(problem_of(negative)), "seqlen_q[1] = -1 is outside [0, 2147483647]");
  Plan small = plan_of(good);
  const auto refused = fmha_split_plan(good, {small.items.data(), 1, small.combine.data(), small.sizes.combine_items,
                                              small.splits.data(), small.indptr.data()});
  EXPECT_EQ(refused.status().message,
            "items: " + std::to_string(small.sizes.items) + " are needed, there is room for 1");
}

TEST(FmhaSplit, TheLargestSizesNeitherOverflowNorLoopForLong) {
  constexpr std::int32_t most = std::numeric_limits<std::int32_t>::max();
  const Batch batch{{1, most}, {most, most}};
  FmhaSplitProblem p = problem_of(batch);
  p.m0 = 1;
  EXPECT_EQ(refusal(p), "2147483648 items of 1 heads are more than max_workgroups = 2147483647");
  const Batch one{{1}, {most}};
  p = problem_of(one);
  p.cu_num = 1 << 20;
  p.max_splits = most;
  p.cost = {1 << 10, 1 << 10};
  const Plan plan = plan_of(p);
  EXPECT_GT(plan.sizes.max_splits, 1000);
  p.m0 = 65536;
  p.n0 = 65536;
  p.page_size = 65535;
  EXPECT_EQ(plan_of(p).sizes.items, 1);
}

}  // namespace
