// What a split-KV plan refuses, by field and number, up to the largest sizes.
#include <limits>
#include <string>

#include "fmha_split_fixture.hpp"

namespace {

using namespace split_test;

/// Why the problem has no plan; empty where it has one.
std::string refusal(const FmhaSplitProblem& p) {
  const auto found = fmha_split_sizes(p);
  return found ? "" : found.status().message;
}

TEST(FmhaSplitCheck, ARefusalNamesTheField) {
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
  EXPECT_EQ(with([](auto& p) { p.workgroup_heads = 0; }), "workgroup_heads = 0 is outside [1, 2147483647]");
  EXPECT_EQ(with([](auto& p) { p.m0 = 0; }), "m0 = 0 is outside [1, 65536]");
  EXPECT_EQ(with([](auto& p) { p.cu_num = 0; }), "cu_num = 0 is outside [1, 1048576]");
  EXPECT_EQ(with([](auto& p) { p.mask.window_left = -2; }), "mask.window_left = -2 is outside [-1, 2147483647]");
  EXPECT_EQ(with([](auto& p) { p.fixed_split_size = 100; }),
            "fixed_split_size = 100 is no multiple of n0 = 64 and of page_size = 0");
  EXPECT_EQ(with([](auto& p) { p.fixed_split_size = 64, p.no_split = true; }),
            "fixed_split_size = 64 contradicts no_split");
  EXPECT_EQ(with([](auto& p) { p.fixed_split_size = 64; }),
            "fixed_split_size = 64 makes 1024 splits, more than max_splits = 128");
  EXPECT_EQ(with([](auto& p) { p.max_workgroups = 1; }), "2 items of 1 workgroups are more than max_workgroups = 1");
  const Batch negative{{1, -1}, {1, 1}};
  EXPECT_EQ(refusal(problem_of(negative)), "seqlen_q[1] = -1 is outside [0, 2147483647]");
  Plan small = plan_of(good);
  const auto refused = fmha_split_plan(good, {small.items.data(), 1, small.combine.data(), small.sizes.combine_items,
                                              small.splits.data(), small.indptr.data()});
  EXPECT_EQ(refused.status().message,
            "items: " + std::to_string(small.sizes.items) + " are needed, there is room for 1");
}

TEST(FmhaSplitCheck, TheLargestSizesNeitherOverflowNorLoopForLong) {
  constexpr std::int32_t most = std::numeric_limits<std::int32_t>::max();
  const Batch batch{{1, most}, {most, most}};
  FmhaSplitProblem p = problem_of(batch);
  p.m0 = 1;
  EXPECT_EQ(refusal(p), "2147483648 items of 1 workgroups are more than max_workgroups = 2147483647");
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
