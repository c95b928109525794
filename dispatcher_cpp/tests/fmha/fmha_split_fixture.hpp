// Split-KV plans for the planner's tests, and what holds of every one of them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <ckgen/fmha_split.hpp>

namespace split_test {

using namespace ckgen;

struct Batch {
  std::vector<std::int32_t> q, k;
};

inline FmhaSplitProblem problem_of(const Batch& batch) {
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

struct SplitPlan {
  FmhaSplitSizes sizes;
  std::vector<FmhaSplitItem> items;
  std::vector<FmhaCombineItem> combine;
  std::vector<std::int32_t> splits;
  std::vector<std::int64_t> indptr;
};

inline SplitPlan plan_in(const FmhaSplitProblem& p, const FmhaSplitSizes& room) {
  SplitPlan plan{{},
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

inline SplitPlan plan_of(const FmhaSplitProblem& p) {
  const auto sizes = fmha_split_sizes(p);
  EXPECT_TRUE(sizes) << sizes.status().message;
  return plan_in(p, *sizes);
}

/// visible() of ckgen/fmha.hpp, written out.
inline bool visible(const FmhaMask& mask, std::int64_t length_q, std::int64_t length_k, std::int64_t i,
                    std::int64_t j) {
  if (j >= length_k) return false;
  if (!mask.masked) return true;
  const std::int64_t at = i + (mask.corner == FmhaCorner::top_left ? 0 : length_k - length_q);
  if (mask.window_right >= 0 && j > at + mask.window_right) return false;
  return j < mask.sink_tokens || mask.window_left < 0 || j >= at - mask.window_left;
}

/// Every visible cell is in exactly one item; parts, partial rows and combine items fit together.
inline void expect_covered(const FmhaSplitProblem& p, const SplitPlan& plan) {
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

}  // namespace split_test
