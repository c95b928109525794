// Grouped GEMM: which problems are legal, which instances can run them, plans and runs of a user's own kernel.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "counted_new.hpp"
#include "tiny_library.hpp"

namespace test_grouped_plan {

using namespace ckgen;

constexpr Signature kGrouped = [] {
  Signature s = tiny::fp16;
  s.op = Op::grouped_gemm;
  return s;
}();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

/// What the last launch was given.
struct Seen {
  int launches = 0;
  const GroupedArgs* args = nullptr;
  const Groups* groups = nullptr;
  void* workspace = nullptr;
};

Status keep(const Launch& launch) noexcept {
  Seen& seen = *static_cast<Seen*>(launch.instance->context);
  ++seen.launches;
  seen.args = launch.grouped;
  seen.groups = launch.problem->groups();
  seen.workspace = launch.workspace;
  return launch.args == nullptr && launch.moe == nullptr
             ? Status::success()
             : Status::error(StatusCode::internal, "arguments of another op");
}

std::size_t room_of(const InstanceDesc&, const Problem& problem, std::uint32_t, std::uint32_t) noexcept {
  return static_cast<std::size_t>(problem.groups()->count()) * 100;
}

class GroupedPlan : public ::testing::Test {
 protected:
  void add(const char* name, const Constraints& constraints, Tile tile = {16, 16, 16},
           const Signature& signature = kGrouped) {
    InstanceDesc d = tiny::instance(name, static_cast<std::uint64_t>(name[0]), signature, tile, constraints);
    d.twin = keep;
    d.workspace = room_of;
    d.context = &seen;
    const Status status = registry.add(d);
    ASSERT_TRUE(status.ok()) << status.message;
    dispatcher = Dispatcher(registry, DispatcherOptions{});
  }
  std::string why_not(const Groups& groups, std::uint32_t k_batch = 1, bool deterministic = false) const {
    const Problem problem = Problem(kGrouped).groups(groups).deterministic(deterministic);
    const Selection chosen = dispatcher.select(problem, device);
    if (!chosen) return reason(chosen);
    Selection split = chosen;
    split.k_batch = k_batch;
    return dispatcher.plan(problem, device, split).status().message;
  }
  template <std::size_t N>
  static Groups of(const GroupSize (&sizes)[N]) {
    return Groups(sizes, N);
  }

  Seen seen;
  Registry registry;
  Dispatcher dispatcher{Registry(), DispatcherOptions{}};
  Device device = Device::simulated("gfx942");
};

TEST_F(GroupedPlan, MultiplesHoldForEveryGroup) {
  add("multiples", {16, 8, 32, 0, 64, 1, false});
  const GroupSize good[] = {{16, 8, 64}, {48, 24, 96}, {0, 3, 5}, {7, 0, 1}};
  EXPECT_EQ(why_not(of(good)), "");
  const GroupSize m[] = {{16, 8, 64}, {40, 24, 96}};
  EXPECT_EQ(why_not(of(m)), "M = 40 is not a multiple of 16 (rule gemm.instance.m-multiple)");
  const GroupSize n[] = {{16, 12, 64}, {48, 24, 96}};
  EXPECT_EQ(why_not(of(n)), "N = 12 is not a multiple of 8 (rule gemm.instance.n-multiple)");
  const GroupSize k[] = {{16, 8, 64}, {48, 24, 80}};
  EXPECT_EQ(why_not(of(k)), "K = 80 is not a multiple of 32 (rule gemm.instance.k-multiple)");
  const GroupSize few[] = {{16, 8, 64}, {48, 24, 32}};
  EXPECT_EQ(why_not(of(few)), "K = 32 of one split is below 64 (rule gemm.instance.min-k)");
  EXPECT_EQ(why_not(Groups::on_device(4, 64, 8, 64)),
            "M of groups whose sizes are on the device is not known to be a multiple of 16 (rule grouped.m-unknown)");
}

TEST_F(GroupedPlan, MatricesAndSplitsAreThoseOfTheGroups) {
  Constraints c{0, 0, 0, 32, 0, 4, true};
  c.max_ab = 3000;
  c.max_c = 1000;
  add("splits", c);
  const GroupSize small[] = {{10, 20, 128}, {20, 10, 64}};
  EXPECT_EQ(why_not(of(small), 2), "");
  EXPECT_EQ(why_not(of(small), 4),
            "K = 64 does not split evenly: it is not a multiple of 128 (rule "
            "gemm.instance.split-multiple)");
  EXPECT_EQ(why_not(of(small), 8), "k_batch = 8 is above 4 (rule gemm.instance.max-k-batch)");
  EXPECT_NE(why_not(of(small), 4, true).find("gemm.instance.atomic-split"), std::string::npos);
  const GroupSize a[] = {{10, 20, 128}, {40, 1, 96}};  // the largest M and K are of two groups
  EXPECT_EQ(why_not(of(a)), "a matrix of 3840 elements is above 3000 (rule gemm.instance.matrix-size)");
  const GroupSize fits[] = {{1, 20, 128}, {40, 1, 64}};
  EXPECT_EQ(why_not(of(fits)), "");
  const GroupSize large_c[] = {{40, 26, 64}};
  EXPECT_EQ(why_not(of(large_c)), "a matrix of 1040 elements is above 1000 (rule gemm.instance.matrix-size)");
}

TEST_F(GroupedPlan, IllegalGroupsAreRefusedWithTheirRule) {
  add("any", {0, 0, 0, 0, 0, 1, false});
  EXPECT_EQ(reason(dispatcher.select(Problem(kGrouped).shape(1, 1, 1), device)),
            "a grouped GEMM needs its groups (rule grouped.no-groups)");
  const GroupSize negative[] = {{1, 1, 1}, {-1, 1, 1}};
  EXPECT_NE(why_not(of(negative)).find("(rule grouped.sizes)"), std::string::npos);
  const GroupSize huge[] = {{kMost, 2, 1}};
  EXPECT_NE(why_not(of(huge)).find("(rule grouped.sizes)"), std::string::npos);
  const GroupSize idle[] = {{0, 4, 4}, {4, 0, 4}};
  EXPECT_EQ(why_not(of(idle)), "M = 0 is below 1 (rule gemm.shape.m)");
  const GroupSize beyond[] = {{std::int64_t{1} << 31, 2, 1}};
  EXPECT_NE(why_not(of(beyond)).find("gemm.shape.m-max"), std::string::npos);
  const GroupSize without_k[] = {{4, 4, 8}, {4, 4, 0}};
  EXPECT_EQ(why_not(of(without_k)), "");
}

TEST_F(GroupedPlan, ARuleOfTheSignatureNamesTheGroupsSize) {
  Signature s = kGrouped;
  s.a = s.b = DType::fp8_fnuz;
  s.c = DType::bf16;
  s.quant = Quant::mx;
  s.scale = DType::e8m0;
  const GroupSize sizes[] = {{4, 4, 64}, {4, 4, 96}, {4, 4, 80}};
  EXPECT_EQ(reason(dispatcher.select(Problem(s).groups(of(sizes)), device)),
            "K = 80 is not a multiple of 32 (rule gemm.mx.k-group)");
}

TEST_F(GroupedPlan, DefaultsCostWhatAlikeGroupsDo) {
  add("large", {0, 0, 0, 0, 0, 1, false}, {128, 128, 32});
  add("small", {0, 0, 0, 0, 0, 1, false}, {16, 64, 32});
  const auto chosen = [&](const Groups& groups) {
    return std::string(
        dispatcher.registry().instance(dispatcher.select(Problem(kGrouped).groups(groups), device).instance).name);
  };
  const std::vector<GroupSize> few(64, {8, 1024, 512}), many(64, {2048, 1024, 512});
  EXPECT_EQ(chosen(Groups(few.data(), 64)), "small");
  EXPECT_EQ(chosen(Groups(many.data(), 64)), "large");
  EXPECT_EQ(chosen(Groups::on_device(64, 8, 1024, 512)), "small");
}

TEST_F(GroupedPlan, SelectionAndPlansDoNotAllocate) {
  add("any", {0, 0, 16, 0, 0, 1, false});
  const std::vector<GroupSize> sizes(100, {16, 16, 64});
  const Groups groups(sizes.data(), 100);
  const Problem problem = Problem(kGrouped).groups(groups);
  const long before = allocations();
  const bool planned = dispatcher.plan(problem, device).status().ok();
  EXPECT_EQ(allocations(), before);
  EXPECT_TRUE(planned);
}

TEST_F(GroupedPlan, APlanRunsWithItsGroups) {
  add("any", {0, 0, 0, 0, 0, 1, false});
  const GroupSize sizes[] = {{2, 3, 4}, {0, 3, 4}, {2, 3, 0}};
  const Groups groups = of(sizes);
  const auto plan = dispatcher.plan(grouped_gemm("fp16:fp16").groups(groups), device);
  ASSERT_TRUE(plan) << plan.status().message;
  EXPECT_EQ(plan->stage_count, 1U);
  EXPECT_EQ(plan->workspace_size, 300U);
  std::vector<char> memory(64);
  GroupOperands x{};
  x.a = x.b = x.c = memory.data();
  x.lda = x.ldb = 4;
  x.ldc = 3;
  GroupOperands without_k{};
  without_k.c = memory.data();
  without_k.ldc = 3;
  const GroupOperands operands[] = {x, {}, without_k};
  const GroupedArgs args{operands, sizes, 3, false, false, 1.0F};
  const Status status = dispatcher.run(*plan, args, nullptr);
  ASSERT_TRUE(status.ok()) << status.message;
  EXPECT_EQ(seen.launches, 1);
  EXPECT_EQ(seen.args, &args);
  EXPECT_EQ(seen.groups, &groups);
  EXPECT_NE(seen.workspace, nullptr);
  EXPECT_TRUE(dispatcher.bench(*plan, args, {0, 1}));
  GemmArgs other{};
  EXPECT_STREQ(dispatcher.run(*plan, other, nullptr).message, "the plan is not of a GEMM: it takes other arguments");
  EXPECT_FALSE(dispatcher.run(*plan, MoeArgs{}, nullptr).ok());
}

TEST_F(GroupedPlan, ArgumentsThatDoNotFitAreRefusedByGroup) {
  add("any", {0, 0, 0, 0, 0, 1, false});
  const GroupSize sizes[] = {{2, 3, 4}, {2, 3, 4}};
  const Groups groups = of(sizes);
  const auto plan = dispatcher.plan(Problem(kGrouped).groups(groups), device);
  ASSERT_TRUE(plan) << plan.status().message;
  std::vector<char> memory(64);
  const auto refusal = [&](auto change) {
    GroupOperands x{};
    x.a = x.b = x.c = memory.data();
    x.lda = x.ldb = 4;
    x.ldc = 3;
    GroupOperands operands[] = {x, x};
    GroupSize own[] = {sizes[0], sizes[1]};
    GroupedArgs args{operands, own, 2, false, false, 1.0F};
    change(args, operands[1], own[1]);
    const Status status = dispatcher.run(*plan, args, nullptr);
    return std::string(status.message);
  };
  using Args = GroupedArgs;
  EXPECT_EQ(refusal([](Args&, GroupOperands&, GroupSize&) {}), "");
  EXPECT_EQ(refusal([](Args& x, GroupOperands&, GroupSize&) { x.operands = nullptr; }), "operands is null");
  EXPECT_EQ(refusal([](Args& x, GroupOperands&, GroupSize&) { x.sizes = nullptr; }), "sizes is null");
  EXPECT_EQ(refusal([](Args& x, GroupOperands&, GroupSize&) { x.count = 1; }),
            "the arguments are of 1 groups, the plan of 2");
  EXPECT_EQ(refusal([](Args&, GroupOperands&, GroupSize& size) { size.n = 2; }),
            "group 1 has M=2 N=2 K=4 in the arguments, M=2 N=3 K=4 in the plan");
  EXPECT_EQ(refusal([](Args&, GroupOperands& x, GroupSize&) { x.a = nullptr; }), "A is null (group 1)");
  EXPECT_EQ(refusal([](Args&, GroupOperands& x, GroupSize&) { x.ldc = 2; }),
            "the leading dimension of C = 2 is below 3 (group 1)");
  EXPECT_EQ(refusal([](Args& args, GroupOperands&, GroupSize&) { args.a_scale_stride = 9; }),
            "a_scale_stride is of block scales of A, which the signature has not");
  EXPECT_EQ(refusal([](Args&, GroupOperands& x, GroupSize&) { x.lda = kMost; }),
            "A has more bits than 64-bit integers count (group 1)");
  EXPECT_EQ(seen.launches, 1);
}

TEST_F(GroupedPlan, SizesOnTheDeviceAreNotRead) {
  add("any", {0, 0, 0, 0, 0, 1, false});
  const Groups groups = Groups::on_device(2, 64, 16, 32);
  const auto plan = dispatcher.plan(Problem(kGrouped).groups(groups), device);
  ASSERT_TRUE(plan) << plan.status().message;
  const auto* unreadable = reinterpret_cast<const GroupOperands*>(std::uintptr_t{64});
  const auto* sizes = reinterpret_cast<const GroupSize*>(std::uintptr_t{64});
  EXPECT_TRUE(dispatcher.run(*plan, GroupedArgs{unreadable, sizes, 2, false, false, 1.0F}, nullptr).ok());
  EXPECT_FALSE(dispatcher.run(*plan, GroupedArgs{unreadable, sizes, 3, false, false, 1.0F}, nullptr).ok());
}

TEST_F(GroupedPlan, LinesOfBlockScalesAreAtLeastAsFarApartAsTheyAreLong) {
  Signature blocks = tiny::blockscale(DType::fp8_ocp);
  blocks.op = Op::grouped_gemm;
  add("any", {0, 0, 0, 0, 0, 1, false}, {16, 16, 16}, blocks);
  const GroupSize sizes[] = {{5, 16, 128}, {3, 16, 384}};
  std::vector<char> memory(2048);
  GroupOperands x{};
  x.c = memory.data();
  x.a = x.b = x.a_scale = x.b_scale = x.c;
  x.lda = x.ldb = 384;
  x.ldc = 16;
  const GroupOperands operands[] = {x, x};
  const auto refusal = [&](const Groups& groups, bool are_rows, std::int64_t apart) {
    const auto plan = dispatcher.plan(Problem(blocks).groups(groups), device);
    EXPECT_TRUE(plan) << plan.status().message;
    const GroupedArgs args{operands, sizes, 2, are_rows, false, 1.0F, apart};
    return std::string(dispatcher.run(*plan, args, nullptr).message);
  };
  for (const Groups& groups : {of(sizes), Groups::on_device(2, 5, 16, 384)}) {
    EXPECT_EQ(refusal(groups, true, 0), "");
    EXPECT_EQ(refusal(groups, true, 3), "");
    EXPECT_EQ(refusal(groups, true, 2), "a_scale_stride is 2, and a line has 3 scales");
    EXPECT_EQ(refusal(groups, false, 5), "");
  }
  EXPECT_EQ(refusal(of(sizes), false, 4), "a_scale_stride is 4, and a line has 5 scales");
}

TEST_F(GroupedPlan, TheTrailNamesTheGroups) {
  add("any", {0, 0, 0, 0, 0, 1, false});
  const GroupSize sizes[] = {{2, 64, 4}, {32, 3, 128}};
  EXPECT_NE(
      dispatcher.explain(Problem(kGrouped).groups(of(sizes)), device).find("2 groups of up to 32x64x128  on gfx942"),
      std::string::npos);
  const Groups on_device = Groups::on_device(8, 100, 64, 96);
  EXPECT_NE(dispatcher.explain(Problem(kGrouped).groups(on_device), device)
                .find("grouped_gemm fp16·fp16→fp16 rcr  8 groups of at most 100x64x96 on the device  on gfx942"),
            std::string::npos);
}

TEST_F(GroupedPlan, StreamKIsOfOneGemm) {
  InstanceDesc d = tiny::instance("sk", 9, kGrouped, {16, 16, 16}, {0, 0, 0, 0, 0, 1, false});
  d.stream_k = {Strategy::linear, 1};
  EXPECT_STREQ(registry.add(d).message, "instance sk: stream-K shares one GEMM's tiles only");
}

}  // namespace test_grouped_plan
