// Attention on attached GPU code: one kernel, prepared from the caller's own arguments, and what combines its splits;
// lengths stay on the device.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "backends/device/fmha_stages.hpp"
#include "counted_new.hpp"
#include "fmha/fmha_fixture.hpp"
#include "mock_hip_test.hpp"
#include "stage_words.hpp"
#include "tiny_device.hpp"

namespace test_fmha_stages {

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
  tiny::expect_reset(out);
  const FmhaArgs& x = *launch.fmha;
  const FmhaShape& shape = launch.problem->fmha();
  const KernelArgs own{x.q,           x.o, x.seqlen_k, launch.workspace, shape.batch, shape.seqlen_q, x.q_strides.row,
                       launch.k_batch};
  const std::int32_t m0 = launch.instance->fmha.m0;
  const device::Extent grid{static_cast<std::uint64_t>((shape.seqlen_q + m0 - 1) / m0),
                            static_cast<std::uint64_t>(shape.heads_q), static_cast<std::uint64_t>(shape.batch)};
  return device::fill(out, "attention", grid, {256}, 0, own);
}

std::size_t partials(const InstanceDesc& instance, const Problem& problem, std::uint32_t splits, Arch,
                     std::uint32_t) noexcept {
  return device::fmha_partials(instance, problem, splits, false).bytes;
}

Status combine(const Launch& launch, Arch, std::uint32_t, KernelCall& out) noexcept {
  tiny::expect_reset(out);
  return device::prepare_combine("combine", false, launch, out);
}

constexpr FmhaStages kStages{partials, combine};

class FmhaLaunches : public MockHipTest {
 protected:
  FmhaLaunches() {
    code.add(1, {Arch::gfx942}, prepare, {"attention", "combine"});
    code.code(0).fmha = &kStages;
    FmhaConfig config = padded(64, 64, 128, 128);
    config.max_splits = 8;
    config.takes_items = true;
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

  /// What launch `index`, counted from the last, was given; `grid` is its grid.
  template <class Args>
  Args given(const char* symbol, int index = 0) {
    const MockLaunch launch = mock.launch(mock.counts().launches - 1 - index);
    EXPECT_STREQ(launch.symbol, symbol);
    EXPECT_EQ(launch.args_size, sizeof(Args));
    grid.assign(launch.grid, launch.grid + 3);
    Args args;
    std::memcpy(&args, launch.args, sizeof args);
    return args;
  }

  Code code;
  std::vector<unsigned> grid;
  Registry registry;
  FmhaArgs x;
  alignas(64) char memory[64] = {};
};

std::string kinds(const Plan& plan) {
  return tests::stages(plan, {"combine"});
}

TEST_F(FmhaLaunches, AreOneKernelWithItsOwnWorkspace) {
  const Dispatcher dispatcher{registry, DispatcherOptions{}};
  const Device gpu = device(0);
  const Problem problem = Problem(attention()).fmha(sizes(2, 4, 4, 130, 200, 128, 128));
  Selection whole = dispatcher.select(problem, gpu);
  whole.k_batch = 1;
  const auto plan = dispatcher.plan(problem, gpu, whole);
  ASSERT_TRUE(plan) << plan.status().message;
  ASSERT_TRUE(plan->launchable.ok()) << plan->launchable.message;
  EXPECT_EQ(plan->stage_count, 1U);
  EXPECT_EQ(plan->workspace_size, 0U);
  x.seqlen_k = reinterpret_cast<const std::int32_t*>(std::uintptr_t{64});  // memory of the device
  const Status status = dispatcher.run(*plan, x, nullptr, nullptr);
  ASSERT_TRUE(status.ok()) << status.message;
  const auto kernel = given<KernelArgs>("attention");
  EXPECT_EQ(grid, (std::vector<unsigned>{3, 4, 2}));
  EXPECT_EQ(kernel.q, memory);
  EXPECT_EQ(kernel.seqlen_k, x.seqlen_k);
  EXPECT_EQ(kernel.q_row, 128);
  EXPECT_EQ(kernel.seqlen_q, 130);
  EXPECT_EQ(kernel.splits, 1U);
}

TEST_F(FmhaLaunches, SplitsAreCombinedBehindTheKernel) {
  const Dispatcher dispatcher{registry, DispatcherOptions{}};
  const Device gpu = device(0);
  const Problem problem = Problem(attention()).fmha(sizes(2, 4, 4, 130, 200, 128, 128));
  Selection split = dispatcher.select(problem, gpu);
  split.k_batch = 4;
  const auto plan = dispatcher.plan(problem, gpu, split);
  ASSERT_TRUE(plan) << plan.status().message;
  EXPECT_EQ(kinds(*plan), "kernel combine") << "nothing is reset";
  constexpr std::uint64_t kRows = 4 * 2 * 4 * 130;
  EXPECT_EQ(plan->workspace_size, kRows * 128 * 4 + kRows * 4);
  ASSERT_TRUE(dispatcher.preload(*plan).ok());
  std::vector<char> room(plan->workspace_size + 64);
  char* workspace = room.data() + (64 - reinterpret_cast<std::uintptr_t>(room.data()) % 64);
  ASSERT_TRUE(dispatcher.run(*plan, x, workspace, nullptr).ok());
  const long before = allocations();
  const Status again = dispatcher.run(*plan, x, workspace, nullptr);
  EXPECT_EQ(allocations(), before);
  ASSERT_TRUE(again.ok()) << again.message;
  const auto kernel = given<KernelArgs>("attention", 1);
  EXPECT_EQ(kernel.workspace, workspace);
  EXPECT_EQ(kernel.splits, 4U);
  const auto sums = given<device::FmhaCombineArgs>("combine");
  EXPECT_EQ(grid, (std::vector<unsigned>{17, 4, 2})) << "8 rows of 32 lanes at once";
  EXPECT_EQ(static_cast<const void*>(sums.o_acc), workspace);
  EXPECT_EQ(static_cast<const void*>(sums.lse_acc), workspace + kRows * 128 * 4);
  EXPECT_EQ(sums.o, x.o);
  EXPECT_EQ(sums.lse, nullptr);
  EXPECT_EQ(sums.items, nullptr);
  EXPECT_EQ(sums.splits, 4);
  EXPECT_EQ(sums.rows, 130);
  EXPECT_EQ(sums.split_stride, 2 * 4 * 130);
  EXPECT_EQ(sums.o_batch, 128 * 200 * 4);
  EXPECT_TRUE(sums.loads_vectors && sums.stores_vectors);
}

TEST_F(FmhaLaunches, ASchedulesSplitsAreCombinedByItsItems) {
  const Dispatcher dispatcher{registry, DispatcherOptions{}};
  FmhaShape shape = sizes(2, 4, 4, 130, 200, 128, 104);
  shape.split_items = 9, shape.split_m0 = 64, shape.split_n0 = 128;
  const auto whole = dispatcher.plan(Problem(attention()).fmha(shape), device(0));
  ASSERT_TRUE(whole) << whole.status().message;
  EXPECT_EQ(whole->stage_count, 1U) << "no tile of the schedule has several splits";
  shape.split_combines = 3, shape.split_rows = 300;
  const auto plan = dispatcher.plan(Problem(attention()).fmha(shape), device(0));
  ASSERT_TRUE(plan) << plan.status().message;
  EXPECT_EQ(kinds(*plan), "kernel combine");
  constexpr std::uint64_t kSums = 4 * 300 * 104 * 4;
  EXPECT_EQ(plan->workspace_size, kSums + 4 * 300 * 4);
  static_assert(kSums % 256 == 0);
  std::vector<char> room(plan->workspace_size + 64);
  char* workspace = room.data() + (64 - reinterpret_cast<std::uintptr_t>(room.data()) % 64);
  EXPECT_STREQ(dispatcher.run(*plan, x, workspace, nullptr).message, "split.items is null");
  const FmhaSplitItem items[9] = {};
  const FmhaCombineItem combined[3] = {};
  x.split.items = items;
  EXPECT_STREQ(dispatcher.run(*plan, x, workspace, nullptr).message, "split.combine_items is null");
  x.split.combine_items = combined;
  x.o = memory + 2;
  const Status status = dispatcher.run(*plan, x, workspace, nullptr);
  ASSERT_TRUE(status.ok()) << status.message;
  const auto sums = given<device::FmhaCombineArgs>("combine");
  EXPECT_EQ(grid, (std::vector<unsigned>{3 * 8, 4, 1}));
  EXPECT_EQ(sums.items, combined);
  EXPECT_EQ(sums.rows, 300);
  EXPECT_EQ(sums.m0, 64);
  EXPECT_EQ(sums.group, 1);
  EXPECT_TRUE(sums.loads_vectors && !sums.stores_vectors) << "O is not aligned";
}

TEST_F(FmhaLaunches, PartialRowsAreThoseOfAllSequences) {
  FmhaTraits varlen;
  varlen.varlen = true;
  InstanceDesc merged = tiny::instance("merged", 2, attention(), {64, 128, 64}, {0, 0, 0, 0, 0, 1, false});
  merged.fmha.merge_heads = true;
  FmhaShape shape = sizes(3, 8, 2, 5, 9, 128, 32);
  const auto of = [&](const Signature& s, std::uint32_t splits, bool always = false) {
    return device::fmha_partials(merged, Problem(s).fmha(shape), splits, always);
  };
  EXPECT_EQ(of(attention(), 1).bytes, 0U);
  EXPECT_EQ(of(attention(), 0, true).rows, 3U * 8 * 5) << "equal splits keep the query heads apart";
  EXPECT_EQ(of(attention(varlen), 2).rows, 2U * 3 * 8 * 5);
  shape.total_q = 11;
  EXPECT_EQ(of(attention(varlen), 2).rows, 2U * 11 * 8);
  EXPECT_EQ(of(attention(varlen), 2).lse_offset, 22528U) << "a multiple of 256";
  shape.split_items = shape.split_rows = 7;
  EXPECT_EQ(of(attention(varlen), 1).rows, 7U * 2);
  shape = sizes(std::int64_t{1} << 31, 65535, 1, std::int64_t{1} << 31, 1, 256, 256);
  EXPECT_EQ(of(attention(), 8).bytes, ~std::uint64_t{0}) << "more than 64 bits count";
}

TEST_F(FmhaLaunches, HalfOfItsStagesIsNotAttached) {
  static constexpr FmhaStages half{partials, nullptr};
  Registry own;
  InstanceDesc d = tiny::instance("gpu", 1, attention(), {64, 128, 64}, {0, 0, 0, 0, 0, 8, false});
  d.fmha = padded(64, 64, 128, 128);
  ASSERT_TRUE(own.add(d).ok());
  code.code(0).fmha = &half;
  EXPECT_NE(std::string(own.attach(code.library()).message).find("only one of partial results and what combines them"),
            std::string::npos);
}

TEST_F(FmhaLaunches, WithoutRowsLaunchNothing) {
  const Dispatcher dispatcher{registry, DispatcherOptions{}};
  const auto plan = dispatcher.plan(Problem(attention()).fmha(sizes(2, 4, 4, 0, 200, 128, 128)), device(0));
  ASSERT_TRUE(plan) << plan.status().message;
  const int launches = mock.counts().launches;
  const Status status = dispatcher.run(*plan, x, nullptr, nullptr);
  EXPECT_TRUE(status.ok()) << status.message;
  EXPECT_EQ(mock.counts().launches, launches);
}

}  // namespace test_fmha_stages
