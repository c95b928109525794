// Gradients of attention on attached GPU code: which kernels run, in which order, over which workspace.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "backends/device/fmha_backward_room.hpp"
#include "backends/device/kernel_call.hpp"
#include "counted_new.hpp"
#include "fmha/fmha_fixture.hpp"
#include "mock_hip_test.hpp"
#include "stage_words.hpp"
#include "tiny_device.hpp"

namespace test_fmha_backward_stages {

using namespace ckgen;
using device::FmhaBackwardRoom;
using tiny::attention;
using tiny::Code;
using tiny::padded;
using tiny::sizes;

struct KernelArgs {
  const void* dout;
  void* workspace;
};

Status noted(const char* symbol, const Launch& launch, KernelCall& out) noexcept {
  tiny::expect_reset(out);
  return device::fill(out, symbol, device::Extent{1, 1, 1}, device::Extent{64, 1, 1}, 0,
                      KernelArgs{launch.fmha->dout, launch.workspace});
}
Status dq_dk_dv(const Launch& launch, Arch, std::uint32_t, KernelCall& out) noexcept {
  return noted("dq_dk_dv", launch, out);
}
Status dot_do_o(const Launch& launch, Arch, std::uint32_t, KernelCall& out) noexcept {
  return noted("dot_do_o", launch, out);
}
Status sum_heads(const Launch& launch, Arch, std::uint32_t, KernelCall& out) noexcept {
  return noted("sum_heads", launch, out);
}
Status convert_dq(const Launch& launch, Arch, std::uint32_t, KernelCall& out) noexcept {
  return noted("convert_dq", launch, out);
}
Status dq(const Launch& launch, Arch, std::uint32_t, KernelCall& out) noexcept {
  return noted("dq", launch, out);
}
Status dbias(const Launch& launch, Arch, std::uint32_t, KernelCall& out) noexcept {
  return noted("dbias", launch, out);
}
Status dsink(const Launch& launch, Arch, std::uint32_t, KernelCall& out) noexcept {
  return noted("dsink", launch, out);
}
std::size_t workspace(const InstanceDesc&, const Problem& problem, std::uint32_t, Arch, std::uint32_t) noexcept {
  return FmhaBackwardRoom::of(problem, true, 0).bytes;
}
std::size_t sums(const InstanceDesc&, const Problem& problem, std::uint32_t, Arch, std::uint32_t) noexcept {
  return FmhaBackwardRoom::of(problem, true, 0).dq_bytes;
}

constexpr FmhaStages kStages{workspace, nullptr, sums, dot_do_o, sum_heads, convert_dq};
constexpr FmhaStages kAlone{workspace, nullptr, sums, dot_do_o, nullptr, convert_dq};
constexpr FmhaStages kApart{workspace, nullptr, nullptr, dot_do_o, nullptr, nullptr, dq, dbias, dsink};

Signature backward() {
  FmhaTraits traits;
  traits.entry = FmhaEntry::backward;
  return attention(traits);
}

class FmhaBackwardLaunches : public MockHipTest {
 protected:
  FmhaBackwardLaunches() {
    code.add(1, {Arch::gfx942}, dq_dk_dv, {"dot_do_o", "dq_dk_dv", "sum_heads", "convert_dq", "dq", "dbias", "dsink"});
    x.q = x.k = x.v = x.dout = x.o = x.dq = x.dk = x.dv = memory;
    x.lse = reinterpret_cast<float*>(memory);
    x.q_strides = x.k_strides = x.v_strides = x.o_strides = {128, 128 * 300, 128 * 300 * 4};
    x.dout_strides = x.dq_strides = x.dk_strides = x.dv_strides = x.q_strides;
    x.lse_head_stride = 300, x.lse_batch_stride = 1200;
    x.scale = 1;
  }
  Status attach(const FmhaStages& stages) {
    code.code(0).fmha = &stages;
    FmhaConfig config = padded(32, 128, 128, 128);
    config.unordered_dq = true;
    InstanceDesc d = tiny::instance("gpu", 1, backward(), {128, 128, 32}, {0, 0, 0, 0, 0, 1, false});
    d.fmha = config;
    d.twin = nullptr;
    d.workspace = nullptr;
    EXPECT_TRUE(registry.add(d).ok());
    return registry.attach(code.library());
  }
  /// Symbols and zeroed memory of what was put on the stream since `first`, in order.
  std::string ran(int launches) {
    std::string text;
    const int cleared = mock.last_clear().sequence;
    for (int i = mock.counts().launches - launches; i < mock.counts().launches; ++i) {
      const MockLaunch launch = mock.launch(i);
      if (!text.empty()) text += " ";
      if (launch.sequence == cleared + 1) text += "zeroed ";
      text += launch.symbol;
    }
    return text;
  }
  static std::string kinds(const Plan& plan) {
    return tests::stages(plan, {"combine", "dot_do_o", "sum_heads", "convert_dq", "dq", "dbias", "dsink"});
  }

  Code code;
  Registry registry;
  FmhaArgs x;
  alignas(64) char memory[64] = {};
};

TEST_F(FmhaBackwardLaunches, RunAroundTheKernelInOneWorkspace) {
  ASSERT_TRUE(attach(kStages).ok());
  const Dispatcher dispatcher{registry, DispatcherOptions{}};
  const auto plan = dispatcher.plan(Problem(backward()).fmha(sizes(2, 4, 2, 130, 200, 128, 64)), device(0));
  ASSERT_TRUE(plan) << plan.status().message;
  ASSERT_TRUE(plan->launchable.ok()) << plan->launchable.message;
  EXPECT_EQ(kinds(*plan), "dot_do_o reset_workspace kernel sum_heads convert_dq");
  constexpr std::uint64_t kSums = 2 * 4 * 130 * 128 * 4;
  EXPECT_EQ(plan->stages[1].reset_bytes, kSums);
  EXPECT_EQ(plan->workspace_size, FmhaBackwardRoom::of(plan->problem, true, 0).bytes);
  std::vector<char> room(plan->workspace_size + 64);
  char* workspace = room.data() + (64 - reinterpret_cast<std::uintptr_t>(room.data()) % 64);
  ASSERT_TRUE(dispatcher.preload(*plan).ok());
  ASSERT_TRUE(dispatcher.run(*plan, x, workspace, nullptr).ok());
  const long before = allocations();
  const Status again = dispatcher.run(*plan, x, workspace, nullptr);
  EXPECT_EQ(allocations(), before);
  ASSERT_TRUE(again.ok()) << again.message;
  EXPECT_EQ(ran(4), "dot_do_o zeroed dq_dk_dv sum_heads convert_dq");
  const MockClear zeroed = mock.last_clear();
  EXPECT_EQ(zeroed.memory, workspace);
  EXPECT_EQ(zeroed.width * zeroed.rows, kSums);
  for (int i = 1; i <= 4; ++i) {
    KernelArgs args;
    std::memcpy(&args, mock.launch(mock.counts().launches - i).args, sizeof args);
    EXPECT_EQ(args.workspace, workspace);
    EXPECT_EQ(args.dout, memory);
  }
}

TEST_F(FmhaBackwardLaunches, HaveNoStageForWhatIsNotThere) {
  ASSERT_TRUE(attach(kStages).ok());
  const Dispatcher dispatcher{registry, DispatcherOptions{}};
  const auto of = [&](std::int64_t queries, std::int64_t keys) {
    const auto plan = dispatcher.plan(Problem(backward()).fmha(sizes(2, 4, 2, queries, keys, 128, 64)), device(0));
    return plan ? kinds(*plan) : std::string(plan.status().message);
  };
  EXPECT_EQ(of(0, 200), "kernel sum_heads");
  EXPECT_EQ(of(130, 0), "dot_do_o reset_workspace kernel convert_dq");
  const auto none = dispatcher.plan(Problem(backward()).fmha(sizes(2, 4, 2, 0, 0, 128, 64)), device(0));
  ASSERT_TRUE(none) << none.status().message;
  const int launches = mock.counts().launches;
  EXPECT_TRUE(dispatcher.run(*none, x, nullptr, nullptr).ok());
  EXPECT_EQ(mock.counts().launches, launches);
}

TEST_F(FmhaBackwardLaunches, SumNoHeadsWhereTheKernelWritesThem) {
  ASSERT_TRUE(attach(kAlone).ok());
  const Dispatcher dispatcher{registry, DispatcherOptions{}};
  const auto plan = dispatcher.plan(Problem(backward()).fmha(sizes(2, 2, 2, 130, 200, 128, 64)), device(0));
  ASSERT_TRUE(plan) << plan.status().message;
  EXPECT_EQ(kinds(*plan), "dot_do_o reset_workspace kernel convert_dq");
}

TEST_F(FmhaBackwardLaunches, AreOneForEachGradientThatTheKernelLeaves) {
  ASSERT_TRUE(attach(kApart).ok());
  const Dispatcher dispatcher{registry, DispatcherOptions{}};
  const auto of = [&](std::int64_t queries, std::int64_t keys) {
    return dispatcher.plan(Problem(backward()).fmha(sizes(2, 4, 2, queries, keys, 128, 64)), device(0));
  };
  const auto plan = of(130, 200);
  ASSERT_TRUE(plan) << plan.status().message;
  EXPECT_EQ(kinds(*plan), "dot_do_o kernel dq dbias dsink");
  std::vector<char> room(plan->workspace_size + 64);
  char* workspace = room.data() + (64 - reinterpret_cast<std::uintptr_t>(room.data()) % 64);
  ASSERT_TRUE(dispatcher.run(*plan, x, workspace, nullptr).ok());
  EXPECT_EQ(ran(5), "dot_do_o dq_dk_dv dq dbias dsink");
  EXPECT_EQ(kinds(*of(0, 200)), "kernel dsink");
  EXPECT_EQ(kinds(*of(130, 0)), "dot_do_o kernel dq dsink");
}

TEST_F(FmhaBackwardLaunches, AreDeterministicUpToTwoTilesOfKeys) {
  ASSERT_TRUE(attach(kStages).ok());
  const Dispatcher dispatcher{registry, DispatcherOptions{}};
  const auto of = [&](std::int64_t keys) {
    const Problem asked = Problem(backward()).fmha(sizes(1, 1, 1, 9, keys, 128, 64)).deterministic(true);
    const auto plan = dispatcher.plan(asked, device(0));
    return plan ? std::string("planned") : std::string(plan.status().message);
  };
  EXPECT_EQ(of(256), "planned");
  EXPECT_NE(of(257).find("(rule fmha.instance.unordered-dq)"), std::string::npos) << of(257);
}

TEST_F(FmhaBackwardLaunches, OfHalfTheirStagesAreNotAttached) {
  static constexpr FmhaStages half{workspace, nullptr, sums, dot_do_o, sum_heads, nullptr};
  const Status status = attach(half);
  EXPECT_NE(std::string(status.message).find("it has not all stages of one direction"), std::string::npos)
      << status.message;
  static constexpr FmhaStages both{workspace, dot_do_o, sums, dot_do_o, sum_heads, convert_dq};
  static constexpr FmhaStages twice{workspace, nullptr, sums, dot_do_o, nullptr, convert_dq, dq};
  static constexpr FmhaStages late{workspace, nullptr, nullptr, nullptr, nullptr, nullptr, dq};
  static constexpr FmhaStages none{workspace, nullptr, nullptr, dot_do_o, sum_heads, nullptr, nullptr, dbias, dsink};
  for (const FmhaStages* stages : {&both, &twice, &late, &none}) {
    code.code(0).fmha = stages;
    EXPECT_FALSE(registry.attach(code.library()).ok());
  }
}

}  // namespace test_fmha_backward_stages
