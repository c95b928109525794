// Attention on attached GPU code: one kernel, prepared from the caller's own arguments; lengths stay on the device.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "counted_new.hpp"
#include "fmha_fixture.hpp"
#include "mock_hip_test.hpp"
#include "tiny_device.hpp"

namespace {

using namespace ckgen;
using tiny::attention;
using tiny::Code;
using tiny::padded;
using tiny::sizes;

struct KernelArgs {
  const void* q;
  void* o;
  const std::int32_t* seqlen_k;
  void* workspace;
  std::int64_t batch, seqlen_q, q_row;
  std::uint32_t splits;
};

Status prepare(const Launch& launch, Arch, std::uint32_t, KernelCall& out) noexcept {
  const FmhaArgs& x = *launch.fmha;
  const FmhaShape& shape = launch.problem->fmha();
  const KernelArgs own{x.q,           x.o, x.seqlen_k, launch.workspace, shape.batch, shape.seqlen_q, x.q_strides.row,
                       launch.k_batch};
  const std::int32_t m0 = launch.instance->fmha.m0;
  const device::Extent grid{static_cast<std::uint64_t>((shape.seqlen_q + m0 - 1) / m0),
                            static_cast<std::uint64_t>(shape.heads_q), static_cast<std::uint64_t>(shape.batch)};
  return device::fill(out, "attention", grid, {256}, 0, own);
}

std::size_t partial_sums(const InstanceDesc& instance, const Problem& problem, std::uint32_t splits, Arch,
                         std::uint32_t) noexcept {
  const FmhaShape& x = problem.fmha();
  const auto rows = static_cast<std::size_t>(x.batch * x.heads_q * x.seqlen_q);
  return splits > 1 ? rows * splits * static_cast<std::size_t>(instance.fmha.hdim_v + 1) * 4 : 0;
}

class FmhaStages : public MockHipTest {
 protected:
  FmhaStages() {
    code.add(1, {Arch::gfx942}, prepare, {"attention"});
    code.code(0).workspace = partial_sums;
    FmhaConfig config = padded(64, 64, 128, 128);
    config.max_splits = 8;
    InstanceDesc d = tiny::instance("gpu", 1, attention(), {64, 128, 64}, {0, 0, 0, 0, 0, 8, false});
    d.fmha = config;
    d.twin = nullptr;
    d.workspace = nullptr;
    EXPECT_TRUE(registry.add(d).ok());
    const Status status = registry.attach(code.library());
    EXPECT_TRUE(status.ok()) << status.message;
    x.q = x.k = x.v = x.o = memory;
    x.q_strides = x.k_strides = x.v_strides = x.o_strides = {128, 128 * 200, 128 * 200 * 4};
    x.scale = 1;
  }

  KernelArgs last() {
    const MockLaunch launch = mock.last_launch();
    EXPECT_STREQ(launch.symbol, "attention");
    EXPECT_EQ(launch.args_size, sizeof(KernelArgs));
    grid.assign(launch.grid, launch.grid + 3);
    KernelArgs args;
    std::memcpy(&args, launch.args, sizeof args);
    return args;
  }

  Code code;
  std::vector<unsigned> grid;
  Registry registry;
  FmhaArgs x;
  char memory[64] = {};
};

TEST_F(FmhaStages, AreOneKernelWithItsOwnWorkspace) {
  const Dispatcher dispatcher{registry, DispatcherOptions{}};
  const Device gpu = device(0);
  const Problem problem = Problem(attention()).fmha(sizes(2, 4, 4, 130, 200, 128, 128));
  auto plan = dispatcher.plan(problem, gpu);
  ASSERT_TRUE(plan) << plan.status().message;
  ASSERT_TRUE(plan->launchable.ok()) << plan->launchable.message;
  EXPECT_EQ(plan->stage_count, 1U);
  EXPECT_EQ(plan->workspace_size, 0U);
  x.seqlen_k = reinterpret_cast<const std::int32_t*>(std::uintptr_t{64});  // memory of the device
  const Status status = dispatcher.run(*plan, x, nullptr, nullptr);
  ASSERT_TRUE(status.ok()) << status.message;
  KernelArgs given = last();
  EXPECT_EQ(grid, (std::vector<unsigned>{3, 4, 2}));
  EXPECT_EQ(given.q, memory);
  EXPECT_EQ(given.seqlen_k, x.seqlen_k);
  EXPECT_EQ(given.q_row, 128);
  EXPECT_EQ(given.seqlen_q, 130);
  EXPECT_EQ(given.splits, 1U);

  Selection split = plan->selection;
  split.k_batch = 4;
  plan = dispatcher.plan(problem, gpu, split);
  ASSERT_TRUE(plan) << plan.status().message;
  EXPECT_EQ(plan->stage_count, 1U) << "nothing is reset: splits are combined";
  EXPECT_EQ(plan->workspace_size, 2U * 4 * 130 * 4 * 129 * 4);
  ASSERT_TRUE(dispatcher.preload(*plan).ok());
  std::vector<char> room(plan->workspace_size + 64);
  void* workspace = room.data() + (64 - reinterpret_cast<std::uintptr_t>(room.data()) % 64);
  const long before = allocations();
  const Status again = dispatcher.run(*plan, x, workspace, nullptr);
  EXPECT_EQ(allocations(), before);
  ASSERT_TRUE(again.ok()) << again.message;
  given = last();
  EXPECT_EQ(given.workspace, workspace);
  EXPECT_EQ(given.splits, 4U);
}

TEST_F(FmhaStages, WithoutRowsLaunchNothing) {
  const Dispatcher dispatcher{registry, DispatcherOptions{}};
  const auto plan = dispatcher.plan(Problem(attention()).fmha(sizes(2, 4, 4, 0, 200, 128, 128)), device(0));
  ASSERT_TRUE(plan) << plan.status().message;
  const int launches = mock.counts().launches;
  const Status status = dispatcher.run(*plan, x, nullptr, nullptr);
  EXPECT_TRUE(status.ok()) << status.message;
  EXPECT_EQ(mock.counts().launches, launches);
}

}  // namespace
