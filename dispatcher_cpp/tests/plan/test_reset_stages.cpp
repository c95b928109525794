// The stages before a kernel on the mock HIP runtime: which memory is zeroed, exactly, and that a refusal zeroes none.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include <ckgen/stream_k.hpp>

#include "mock_hip_test.hpp"
#include "tiny_device.hpp"
#include "tiny_library.hpp"

namespace test_reset_stages {

using namespace ckgen;
using tiny::Code;

constexpr Signature kBatched = [] {
  Signature s = tiny::fp16;
  s.batched = true;
  return s;
}();

/// Adds to C where the plan has splits or atomic stream-K, as such kernels say it.
Status prepare(const Launch& launch, Arch, std::uint32_t cu_num, KernelCall& out) noexcept {
  tiny::expect_reset(out);
  const GemmArgs& args = *launch.args;
  if (args.lda % 8 != 0) return Status::error(StatusCode::unsupported, "lda %% 8 != 0");
  const tiny::KernelArgs own{args.a, args.b, args.c, args.m, args.n, args.k, args.ldc, launch.workgroups, cu_num, 0};
  const Status status = device::fill(out, "tiny_add", {std::max(launch.workgroups, 1U)}, {256}, 0, own);
  if (status.ok() && (launch.k_batch > 1 || launch.instance->stream_k.strategy == Strategy::atomic))
    device::clear_c(out, launch);
  return status;
}

class ResetStages : public MockHipTest {
 protected:
  static constexpr std::int64_t batch = 3, m = 20, n = 24, k = 4096, ldc = 32, stride = m * ldc + 8;

  ResetStages() {
    for (const Strategy strategy : {Strategy::data_parallel, Strategy::atomic, Strategy::linear, Strategy::tree}) {
      const auto id = static_cast<std::uint64_t>(strategy);
      const bool plain = strategy == Strategy::data_parallel;
      InstanceDesc d = tiny::instance(name(strategy).data(), id, kBatched, {16, 16, 32}, {0, 0, 0, 0, 0, 1, plain});
      d.stream_k = {strategy, 2};
      d.constraints.max_k_batch = plain ? 8 : 1;
      EXPECT_TRUE(registry.add(d).ok());
      code.add(id, {Arch::gfx942}, prepare);
    }
    EXPECT_TRUE(registry.attach(code.library()).ok());
    dispatcher = Dispatcher(registry, DispatcherOptions{});
  }
  Problem problem(Strategy wish) const { return Problem(kBatched).shape(m, n, k).batch(batch).strategy(wish); }
  GemmArgs args() {
    GemmArgs args{};
    args.a = args.b = operands.data();
    args.c = c.data();
    args.m = m;
    args.n = n;
    args.k = k;
    args.batch = batch;
    args.lda = args.ldb = k;
    args.ldc = ldc;
    args.batch_stride_c = stride;
    return args;
  }
  void expect_only_c_is_zero() const {
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(c.size()); ++i) {
      const bool inside = i % stride < m * ldc && i % stride % ldc < n;
      ASSERT_EQ(c[static_cast<std::size_t>(i)], inside ? 0 : 0xffff) << i;
    }
  }
  Code code;
  Registry registry;
  Dispatcher dispatcher{Registry(), DispatcherOptions{}};
  std::vector<std::uint16_t> operands = std::vector<std::uint16_t>(64);
  std::vector<std::uint16_t> c = std::vector<std::uint16_t>(batch * stride, 0xffff);
};

TEST_F(ResetStages, AtomicStreamKResetsCRowByRowAndBatchByBatch) {
  const auto plan = dispatcher.plan(problem(Strategy::atomic), device(1));
  ASSERT_TRUE(plan) << plan.status().message;
  ASSERT_EQ(plan->stage_count, 2U);
  EXPECT_EQ(plan->stages[0].kind, StageKind::reset_output);
  EXPECT_EQ(plan->stages[1].kind, StageKind::kernel);
  EXPECT_EQ(plan->stages[1].workgroups, 160U);
  EXPECT_EQ(plan->workspace_size, 0U);
  const int launches = mock.counts().launches;
  const Status status = dispatcher.run(*plan, args(), nullptr);
  ASSERT_TRUE(status.ok()) << status.message;
  EXPECT_EQ(mock.counts().launches, launches + 1);
  EXPECT_EQ(mock.last_launch().grid[0], 160U);
  EXPECT_LT(mock.last_clear().sequence, mock.last_launch().sequence);
  expect_only_c_is_zero();
}

TEST_F(ResetStages, SplitsResetCToo) {
  const Problem wanted = problem(Strategy::data_parallel);
  Selection selection = dispatcher.select(wanted, device(1));
  EXPECT_EQ(dispatcher.plan(wanted, device(1), selection)->stage_count, 1U);
  selection.k_batch = 4;
  const auto plan = dispatcher.plan(wanted, device(1), selection);
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->stage_count, 2U);
  EXPECT_EQ(plan->stages[0].kind, StageKind::reset_output);
  ASSERT_TRUE(dispatcher.run(*plan, args(), nullptr).ok());
  expect_only_c_is_zero();
}

TEST_F(ResetStages, LinearAndTreeResetTheFlagsOfAnExactWorkspace) {
  for (const Strategy wish : {Strategy::linear, Strategy::tree}) {
    const auto plan = dispatcher.plan(problem(wish), device(1));
    ASSERT_TRUE(plan) << plan.status().message;
    ASSERT_EQ(plan->stage_count, 2U);
    EXPECT_EQ(plan->stages[0].kind, StageKind::reset_workspace);
    const std::uint64_t slices = 160 * 16 * 16 * 4, flags = 160 * 4;
    EXPECT_EQ(plan->stages[0].workspace_offset, slices);
    EXPECT_EQ(plan->stages[0].reset_bytes, flags);
    EXPECT_EQ(plan->stages[1].workspace_offset, 0U);
    ASSERT_EQ(plan->workspace_size, slices + flags);
    std::vector<unsigned char> room(plan->workspace_size + 128, 0xab);
    unsigned char* begin = room.data() + (64 - reinterpret_cast<std::uintptr_t>(room.data()) % 64) % 64;
    const Status status = dispatcher.run(*plan, args(), begin, nullptr);
    ASSERT_TRUE(status.ok()) << status.message;
    EXPECT_EQ(mock.last_clear().memory, begin + slices);
    EXPECT_LT(mock.last_clear().sequence, mock.last_launch().sequence);
    EXPECT_EQ(begin[slices - 1], 0xab);
    EXPECT_TRUE(std::all_of(begin + slices, begin + slices + flags, [](unsigned char x) { return x == 0; }));
    EXPECT_EQ(begin[slices + flags], 0xab);
  }
  EXPECT_TRUE(std::all_of(c.begin(), c.end(), [](std::uint16_t x) { return x == 0xffff; }));
}

TEST_F(ResetStages, TilesThatDivideEvenlyNeedNeither) {
  // 16 x 16 tiles of 64 x 640: 160 of them on 160 workgroups
  for (const Strategy wish : {Strategy::atomic, Strategy::linear}) {
    const auto plan = dispatcher.plan(Problem(kBatched).shape(64, 640, k).strategy(wish), device(1));
    ASSERT_TRUE(plan) << plan.status().message;
    EXPECT_EQ(plan->stage_count, 1U);
    EXPECT_EQ(plan->workspace_size, 0U);
  }
}

TEST_F(ResetStages, WhatIsRefusedZeroesNothing) {
  const auto plan = dispatcher.plan(problem(Strategy::atomic), device(1));
  ASSERT_TRUE(plan);
  GemmArgs odd = args();
  odd.lda = k + 4;
  EXPECT_FALSE(dispatcher.run(*plan, odd, nullptr).ok());
  EXPECT_TRUE(std::all_of(c.begin(), c.end(), [](std::uint16_t x) { return x == 0xffff; }));
}

TEST_F(ResetStages, AKernelThatAddsWithoutAResetIsRefused) {
  const auto made = dispatcher.plan(problem(Strategy::atomic), device(1));
  ASSERT_TRUE(made);
  Plan plan = *made;
  plan.stages[0] = plan.stages[1];
  plan.stage_count = 1;
  EXPECT_NE(std::string(dispatcher.run(plan, args(), nullptr).message).find("adds to C"), std::string::npos);
}

}  // namespace test_reset_stages
