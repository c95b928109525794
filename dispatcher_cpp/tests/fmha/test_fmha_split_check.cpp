// What a split-KV plan refuses, by field and number, up to the largest sizes.
#include <limits>
#include <string>

#include "fmha/fmha_split_fixture.hpp"

namespace test_fmha_split_check {

using namespace split_test;

/// Why the problem has no plan; empty where it has one.
std::string refusal(const FmhaSplitProblem& p) {
  const auto found = fmha_split_sizes(p);
  return found ? "" : found.status().message;
}

TEST(FmhaSplitCheck, EveryFieldHasALeastAndAMost) {
  constexpr std::int64_t most_int = std::numeric_limits<std::int32_t>::max();
  using Problem = FmhaSplitProblem;
  const struct {
    const char* field;
    std::int64_t least, most;
    void (*set)(Problem&, std::int64_t);
  } fields[] = {
      {"batch", 1, most_int - 1, [](Problem& p, std::int64_t x) { p.batch = static_cast<int>(x); }},
      {"heads_q", 1, most_int, [](Problem& p, std::int64_t x) { p.heads_q = static_cast<int>(x); }},
      {"heads_k", 1, most_int, [](Problem& p, std::int64_t x) { p.heads_k = static_cast<int>(x); }},
      {"hdim_v", 1, most_int, [](Problem& p, std::int64_t x) { p.hdim_v = static_cast<int>(x); }},
      {"workgroup_heads", 1, most_int, [](Problem& p, std::int64_t x) { p.workgroup_heads = static_cast<int>(x); }},
      {"m0", 1, 65536, [](Problem& p, std::int64_t x) { p.m0 = static_cast<int>(x); }},
      {"n0", 1, 65536, [](Problem& p, std::int64_t x) { p.n0 = static_cast<int>(x); }},
      {"page_size", 0, 65536, [](Problem& p, std::int64_t x) { p.page_size = static_cast<int>(x); }},
      {"mask.window_left", -1, most_int, [](Problem& p, std::int64_t x) { p.mask.window_left = static_cast<int>(x); }},
      {"mask.window_right", -1, most_int,
       [](Problem& p, std::int64_t x) { p.mask.window_right = static_cast<int>(x); }},
      {"mask.sink_tokens", 0, most_int, [](Problem& p, std::int64_t x) { p.mask.sink_tokens = static_cast<int>(x); }},
      {"cu_num", 1, 1 << 20, [](Problem& p, std::int64_t x) { p.cu_num = static_cast<int>(x); }},
      {"occupancy", 1, (1 << 20) / 80, [](Problem& p, std::int64_t x) { p.occupancy = static_cast<int>(x); }},
      {"max_splits", 1, most_int, [](Problem& p, std::int64_t x) { p.max_splits = static_cast<int>(x); }},
      {"max_workgroups", 1, most_int, [](Problem& p, std::int64_t x) { p.max_workgroups = x; }},
      {"fixed_split_size", 0, most_int, [](Problem& p, std::int64_t x) { p.fixed_split_size = static_cast<int>(x); }},
      {"cost.item_row", 0, 1024, [](Problem& p, std::int64_t x) { p.cost.item_row = static_cast<int>(x); }},
      {"cost.partial_row", 0, 1024, [](Problem& p, std::int64_t x) { p.cost.partial_row = static_cast<int>(x); }},
  };
  const Batch batch{{1, 1}, {100, 65536}};
  for (const auto& f : fields) {
    SCOPED_TRACE(f.field);
    const auto told = [&](std::int64_t value) {
      FmhaSplitProblem p = problem_of(batch);
      f.set(p, value);
      // without the lengths, which a bound does not read
      const auto found = fmha_split_bound(p, {1, 65536, 0});
      return std::string{found ? "" : found.status().message};
    };
    const auto outside = [&](std::int64_t value) {
      return std::string{f.field} + " = " + std::to_string(value) + " is outside [" + std::to_string(f.least) + ", " +
             std::to_string(f.most) + "]";
    };
    EXPECT_EQ(told(f.least - 1), outside(f.least - 1));
    EXPECT_EQ(told(f.least).find("is outside"), std::string::npos) << told(f.least);
    EXPECT_EQ(told(f.most).find("is outside"), std::string::npos) << told(f.most);
    const bool is_int = f.most == most_int && std::string{f.field} != "max_workgroups";
    if (!is_int) {
      EXPECT_EQ(told(f.most + 1), outside(f.most + 1));
    }
  }
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
  EXPECT_EQ(with([](auto& p) { p.fixed_split_size = 100; }),
            "fixed_split_size = 100 is no multiple of n0 = 64 and of page_size = 0");
  EXPECT_EQ(with([](auto& p) { p.fixed_split_size = 64, p.no_split = true; }),
            "fixed_split_size = 64 contradicts no_split");
  EXPECT_EQ(with([](auto& p) { p.fixed_split_size = 64; }),
            "fixed_split_size = 64 makes 1024 splits, more than max_splits = 128");
  EXPECT_EQ(with([](auto& p) { p.max_workgroups = 1; }), "2 items of 1 workgroups are more than max_workgroups = 1");
  const Batch negative{{1, -1}, {1, 1}};
  EXPECT_EQ(refusal(problem_of(negative)), "seqlen_q[1] = -1 is outside [0, 2147483647]");
  SplitPlan small = plan_of(good);
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
  const SplitPlan plan = plan_of(p);
  EXPECT_GT(plan.sizes.max_splits, 1000);
  p.m0 = 65536;
  p.n0 = 65536;
  p.page_size = 65535;
  EXPECT_EQ(plan_of(p).sizes.items, 1);
}

}  // namespace test_fmha_split_check
