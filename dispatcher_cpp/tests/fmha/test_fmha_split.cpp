// Split-KV plans against visibility itself, cell by cell, and how they cut batches of some kinds.
#include <algorithm>
#include <array>
#include <random>
#include <utility>
#include <vector>

#include "counted_new.hpp"
#include "fmha/fmha_split_fixture.hpp"

namespace test_fmha_split {

using namespace split_test;

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
    p.workgroup_heads = 1 + below(5);
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

TEST(FmhaSplit, HeadsOfOneWorkgroupDoNotFillADevice) {
  const Batch batch{{1, 1, 1}, {65536, 900, 300}};
  FmhaSplitProblem p = problem_of(batch);
  p.heads_q = p.heads_k = 32;
  p.cu_num = 4;
  EXPECT_EQ(plan_of(p).sizes.max_splits, 1);  // each head is a workgroup
  FmhaSplitProblem one = p;
  one.heads_q = one.heads_k = 1;
  const SplitPlan alone = plan_of(one);
  EXPECT_GE(alone.sizes.max_splits, 4);
  for (const std::int32_t heads : {32, 40}) {
    p.workgroup_heads = heads;
    const SplitPlan together = plan_of(p);
    EXPECT_EQ(together.sizes.heads, 32);
    EXPECT_EQ(together.splits, alone.splits);
    EXPECT_EQ(together.indptr, alone.indptr);
    expect_covered(p, together);
  }
  p.workgroup_heads = 16;  // two workgroups of each item
  EXPECT_EQ(plan_of(p).splits[0], 2);
  p.workgroup_heads = 31, p.max_workgroups = 5;
  EXPECT_STREQ(fmha_split_sizes(p).status().message, "3 items of 2 workgroups are more than max_workgroups = 5");
}

TEST(FmhaSplit, AStragglerIsSplitAndTheOthersAreNot) {
  Batch batch{std::vector<std::int32_t>(64, 1), std::vector<std::int32_t>(64, 256)};
  batch.k[17] = 65536;
  FmhaSplitProblem p = problem_of(batch);
  p.heads_q = p.heads_k = 8;
  p.occupancy = 2;
  const SplitPlan plan = plan_of(p);
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
  const SplitPlan plan = plan_of(problem_of(batch));
  EXPECT_EQ(plan.sizes.max_splits, 1);
  EXPECT_EQ(plan.sizes.partial_rows, 0);
}

TEST(FmhaSplit, AWindowShortensTheKeys) {
  const Batch batch{{1}, {100000}};
  FmhaSplitProblem p = problem_of(batch);
  p.mask.masked = true;
  p.mask.window_left = 127;
  p.no_split = true;
  const SplitPlan plan = plan_of(p);
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

TEST(FmhaSplit, APlanAllocatesNothing) {
  const Batch batch{{1, 40, 1}, {5000, 300, 60000}};
  const FmhaSplitProblem p = problem_of(batch);
  SplitPlan plan = plan_of(p);
  const long before = allocations();
  const auto made = fmha_split_plan(p, {plan.items.data(), plan.sizes.items, plan.combine.data(),
                                        plan.sizes.combine_items, plan.splits.data(), plan.indptr.data()});
  const long after = allocations();
  EXPECT_TRUE(made);
  EXPECT_EQ(after, before);
}

// Lengths of a class count as their mean, of which parts of one length are fewer than of the tiles themselves: these
// two batches would be cut into 58 parts more than there are tiles where 54 are four waves, and into 19 where 18 are.
TEST(FmhaSplit, PartsAreFourWavesMoreThanTilesAtMostWhateverTheMeansOfClassesSay) {
  struct Case {
    std::vector<std::int32_t> tiles;
    std::int32_t cu_num, partial_row;
    std::int64_t most;
  };
  for (const Case& x : {Case{{68, 68, 68, 68, 71, 71, 71, 71, 68}, 40, 1, 54}, Case{{135, 128, 128}, 13, 2, 18}}) {
    Batch batch{std::vector<std::int32_t>(x.tiles.size(), 1), x.tiles};
    FmhaSplitProblem p = problem_of(batch);
    for (std::int32_t& keys : batch.k) keys *= p.n0 = 16;
    p.heads_q = p.heads_k = 3;
    p.cu_num = x.cu_num;
    p.cost = {0, x.partial_row};
    const SplitPlan plan = plan_of(p);
    EXPECT_LE(plan.sizes.items - p.batch, x.most);
    EXPECT_GT(plan.sizes.items - p.batch, x.most / 2);
    expect_covered(p, plan);
  }
}

}  // namespace test_fmha_split
