// A MoE layer in parts on the mock HIP runtime: which kernels run, on which memory, and what a plan says is missing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "counted_new.hpp"
#include "mock_hip_test.hpp"
#include "stage_words.hpp"
#include "tiny_device.hpp"
#include "tiny_library.hpp"

namespace test_moe_stages {

using namespace ckgen;
using tiny::Code;

constexpr std::uint64_t kLayer = 1, kGateUp = 2, kDown = 3;
constexpr std::int64_t kTokens = 40, kInter = 64, kModel = 128;
constexpr Routing kRouting{8, 2};
constexpr std::int32_t kBlockM = 32;

constexpr Signature of_part(MoePart part, Quant quant = Quant::rowwise) {
  Signature s{Op::moe, DType::fp8_fnuz, DType::fp8_fnuz, DType::bf16, DType::fp32, DType::fp32, Layout::rcr, quant};
  if (quant == Quant::none) s.a = s.b = DType::bf16, s.scale = DType::none;
  if (quant == Quant::mx) s.a = s.b = DType::fp8_ocp, s.scale = DType::e8m0;
  s.moe.part = part;
  if (part != MoePart::down) s.epilogue.ops[0] = EpilogueOp::silu;
  return s;
}

struct KernelArgs {
  const void* a;
  const void* a_scale;
  const void* c;
  const void* workspace;
  SortedTokens sorted;
  std::int64_t tokens, n, k, lda, ldc;
  std::int32_t block_m;
  bool a_scale_row_major;
};

Status prepare(const Launch& launch, Arch, std::uint32_t, KernelCall& out) noexcept {
  tiny::expect_reset(out);
  const MoeArgs& x = *launch.moe;
  const Problem& p = *launch.problem;
  const KernelArgs own{x.a,   x.a_scale, x.c,   launch.workspace, x.sorted,           p.m(), p.n(),
                       p.k(), x.lda,     x.ldc, p.block_m(),      x.a_scale_row_major};
  const bool is_down = launch.instance->signature.moe.part == MoePart::down;
  const Status status = device::fill(out, is_down ? "down" : "gate_up", {1}, {256}, 0, own);
  if (status.ok() && launch.instance->constraints.atomic_split) device::clear_c(out, launch);
  return status;
}

struct SortArgs {
  const std::int32_t* ids;
  const float* weights;
  SortedTokens sorted;
  std::int64_t tokens;
  Routing routing;
  std::int32_t block_m;
  void* workspace;
};

Status prepare_sort(const Launch& launch, Arch, std::uint32_t, KernelCall& out) noexcept {
  tiny::expect_reset(out);
  const MoeArgs& x = *launch.moe;
  const Problem& p = *launch.problem;
  return device::fill(
      out, "sort", {1}, {512}, 0,
      SortArgs{x.topk_ids, x.topk_weights, x.sorted, p.m(), p.routing(), p.block_m(), launch.workspace});
}

struct QuantizeArgs {
  const void* from;
  void* to;
  void* scales;
  std::int64_t rows, columns;
  DType from_type, to_type;
  bool shuffled;
  SortedTokens sorted;
};

Status prepare_quantize(const Quantize& work, Arch, std::uint32_t, KernelCall& out) noexcept {
  tiny::expect_reset(out);
  return device::fill(out, "quantize", {1}, {256}, 0,
                      QuantizeArgs{work.from, work.to, work.scales, work.rows, work.columns, work.type,
                                   work.problem->signature().a, work.shuffled, work.sorted});
}

std::size_t scratch(const InstanceDesc& instance, const Problem& problem, std::uint32_t, Arch, std::uint32_t) noexcept {
  return static_cast<std::size_t>(instance.id * 100 + static_cast<std::uint64_t>(problem.n()));
}

std::size_t sort_scratch(const InstanceDesc&, const Problem&, std::uint32_t, Arch, std::uint32_t) noexcept {
  return 48;
}

struct AddSlotsArgs {
  const void* slots;
  const void* c;
  std::int64_t n, ldc;
};

Status prepare_add_slots(const Launch& launch, Arch, std::uint32_t, KernelCall& out) noexcept {
  tiny::expect_reset(out);
  return device::fill(out, "add_slots", {1}, {256}, 0,
                      AddSlotsArgs{launch.workspace, launch.moe->c, launch.problem->n(), launch.moe->ldc});
}

constexpr MoeStages kGateUpStages{prepare_sort, sort_scratch, nullptr};
constexpr MoeStages kDownStages{nullptr, nullptr, prepare_quantize};
constexpr MoeStages kAddingDownStages{nullptr, nullptr, prepare_quantize, scratch, prepare_add_slots};

class MoeLayerStages : public MockHipTest {
 protected:
  explicit MoeLayerStages(Quant quant = Quant::rowwise) : quant_(quant) {
    code.add(kGateUp, {Arch::gfx942}, prepare, {"gate_up", "sort"});
    code.add(kDown, {Arch::gfx942}, prepare, {"down", "quantize", "add_slots"});
    code.code(0).moe = &kGateUpStages;
    code.code(1).moe = &kDownStages;
    code.code(0).workspace = code.code(1).workspace = scratch;
  }
  Signature signature(MoePart part) const { return of_part(part, quant_); }
  InstanceDesc instance(const char* name, std::uint64_t id, MoePart part) const {
    InstanceDesc d = tiny::instance(name, id, signature(part), {kBlockM, 64, 32}, {0, 0, 0, 0, 0, 1, false});
    d.constraints.atomic_split = part != MoePart::gate_up && !adds_slots_;
    if (part == MoePart::layer) d.parts[0] = kGateUp, d.parts[1] = kDown;
    return d;
  }
  Dispatcher dispatcher() {
    EXPECT_TRUE(registry.add(instance("layer", kLayer, MoePart::layer)).ok());
    EXPECT_TRUE(registry.add(instance("gate_up", kGateUp, MoePart::gate_up)).ok());
    EXPECT_TRUE(registry.add(instance("down", kDown, MoePart::down)).ok());
    const Status status = registry.attach(code.library());
    EXPECT_TRUE(status.ok()) << status.message;
    return Dispatcher(registry, DispatcherOptions{});
  }
  Problem problem(MoePart part = MoePart::layer) const {
    return Problem(signature(part)).shape(kTokens, kInter, kModel).routing(kRouting);
  }
  MoeArgs args() {
    MoeArgs x{};
    x.a = x.w1 = x.w2 = x.a_scale = x.w1_scale = x.w2_scale = memory.data();
    x.c = c.data();
    x.tokens = kTokens;
    x.lda = kModel + 16;
    x.ldc = kModel + 8;
    x.topk_ids = reinterpret_cast<const std::int32_t*>(memory.data());
    x.topk_weights = reinterpret_cast<const float*>(memory.data());
    return x;
  }
  unsigned char* workspace(std::uint64_t size) {
    room.assign(size + 64, 0xab);
    return room.data() + (64 - reinterpret_cast<std::uintptr_t>(room.data()) % 64) % 64;
  }
  template <class Args>
  Args arrived(int number, const char* symbol) const {
    const MockLaunch launch = mock.launch(number);
    EXPECT_STREQ(launch.symbol, symbol);
    Args own{};
    EXPECT_EQ(launch.args_size, sizeof own);
    std::memcpy(static_cast<void*>(&own), launch.args, sizeof own);
    return own;
  }

  /// down then has rows of slots, and no reset of C.
  void add_slots() {
    adds_slots_ = true;
    code.code(1).moe = &kAddingDownStages;
    code.code(1).workspace = nullptr;
  }

  Quant quant_;
  bool adds_slots_ = false;
  Code code;
  Registry registry;
  std::vector<char> memory = std::vector<char>(64);
  std::vector<std::uint16_t> c = std::vector<std::uint16_t>(kTokens * (kModel + 8), 0xffff);
  std::vector<unsigned char> room;
};

class UnscaledLayerStages : public MoeLayerStages {
 protected:
  UnscaledLayerStages() : MoeLayerStages(Quant::none) {}
};

class MxLayerStages : public MoeLayerStages {
 protected:
  MxLayerStages() : MoeLayerStages(Quant::mx) {}
};

std::string kinds(const Plan& plan) {
  return tests::stages(plan, {"sort", "quantize", "add_slots"});
}

constexpr std::uint64_t up(std::uint64_t bytes) {
  return (bytes + 63) / 64 * 64;
}

TEST_F(MoeLayerStages, EachStageHasItsMemoryAndTheWorkspaceIsExact) {
  const Dispatcher own = dispatcher();
  const auto plan = own.plan(problem(), device(0));
  ASSERT_TRUE(plan) << plan.status().message;
  ASSERT_TRUE(plan->launchable.ok()) << plan->launchable.message;
  EXPECT_EQ(kinds(*plan), "sort kernel quantize reset_output kernel");
  const auto capacity = static_cast<std::uint64_t>(sorted_capacity(kTokens, kRouting, kBlockM));
  ASSERT_EQ(capacity, (8 + 72 / 32) * 32U);
  std::uint64_t at = 0;
  EXPECT_EQ(plan->stages[0].workspace_offset, at);
  at = up(48);
  EXPECT_EQ(plan->stages[0].output_offset, at);
  at += up(capacity * 4) + up(capacity * 4) + up(capacity / kBlockM * 4) + up(8);
  EXPECT_EQ(plan->stages[1].workspace_offset, at) << "gate_up's own";
  at += up(2 * 100 + kInter);
  EXPECT_EQ(plan->stages[1].output_offset, at) << "H";
  at += up(2 * kTokens * kInter * 2);
  EXPECT_EQ(plan->stages[2].output_offset, at) << "H again, quantised, and a scale per row";
  at += up(2 * kTokens * kInter) + up(2 * kTokens * 4);
  EXPECT_EQ(plan->stages[4].workspace_offset, at) << "down's own";
  EXPECT_EQ(plan->workspace_size, at + 3 * 100 + kModel);
  for (std::uint32_t i = 0; i < plan->stage_count; ++i) {
    EXPECT_EQ(plan->stages[i].workspace_offset % 64, 0U);
    EXPECT_EQ(plan->stages[i].output_offset % 64, 0U);
  }
}

TEST_F(MoeLayerStages, ResultsArePassedFromStageToStage) {
  const Dispatcher own = dispatcher();
  const auto plan = own.plan(problem(), device(0));
  ASSERT_TRUE(plan) << plan.status().message;
  unsigned char* begin = workspace(plan->workspace_size);
  const MoeArgs mine = args();
  const int first = mock.counts().launches;
  int stream = 0;
  const Status status = own.run(*plan, mine, begin, &stream);
  ASSERT_TRUE(status.ok()) << status.message;
  ASSERT_EQ(mock.counts().launches, first + 4);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(mock.launch(first + i).stream, &stream) << i;
  EXPECT_EQ(mock.last_clear().stream, &stream);
  const auto sort = arrived<SortArgs>(first, "sort");
  EXPECT_EQ(sort.ids, mine.topk_ids);
  EXPECT_EQ(sort.weights, mine.topk_weights);
  EXPECT_EQ(sort.workspace, begin);
  EXPECT_EQ(sort.block_m, kBlockM);
  EXPECT_EQ(sort.routing.lookup_key(), kRouting.lookup_key());
  EXPECT_EQ(static_cast<void*>(sort.sorted.token_ids), begin + plan->stages[0].output_offset);

  const auto gate_up = arrived<KernelArgs>(first + 1, "gate_up");
  EXPECT_EQ(gate_up.a, mine.a);
  EXPECT_EQ(gate_up.a_scale, mine.a_scale);
  EXPECT_FALSE(gate_up.a_scale_row_major) << "the caller's scales are as the caller says";
  EXPECT_EQ(gate_up.lda, mine.lda);
  EXPECT_EQ(gate_up.c, begin + plan->stages[1].output_offset);
  EXPECT_EQ(gate_up.ldc, kInter);
  EXPECT_EQ(gate_up.n, kInter);
  EXPECT_EQ(gate_up.k, kModel);
  EXPECT_EQ(gate_up.block_m, kBlockM);
  EXPECT_EQ(gate_up.workspace, begin + plan->stages[1].workspace_offset);
  EXPECT_EQ(std::memcmp(&gate_up.sorted, &sort.sorted, sizeof sort.sorted), 0);

  const auto quantize = arrived<QuantizeArgs>(first + 2, "quantize");
  EXPECT_EQ(quantize.from, gate_up.c);
  EXPECT_EQ(quantize.from_type, DType::bf16);
  EXPECT_EQ(quantize.to_type, DType::fp8_fnuz);
  EXPECT_EQ(quantize.rows, 2 * kTokens);
  EXPECT_EQ(quantize.columns, kInter);
  EXPECT_EQ(quantize.to, begin + plan->stages[2].output_offset);
  EXPECT_EQ(quantize.scales, begin + plan->stages[2].output_offset + up(2 * kTokens * kInter));

  const auto down = arrived<KernelArgs>(first + 3, "down");
  EXPECT_EQ(down.a, quantize.to);
  EXPECT_EQ(down.a_scale, quantize.scales);
  EXPECT_TRUE(down.a_scale_row_major);
  EXPECT_EQ(down.lda, kInter);
  EXPECT_EQ(down.c, mine.c);
  EXPECT_EQ(down.ldc, mine.ldc);
  EXPECT_EQ(down.n, kModel);
  EXPECT_EQ(down.k, kInter);
  EXPECT_EQ(std::memcmp(&down.sorted, &sort.sorted, sizeof sort.sorted), 0);
  for (std::size_t i = 0; i < c.size(); ++i) ASSERT_EQ(c[i], i % (kModel + 8) < kModel ? 0 : 0xffff) << i;
  EXPECT_GT(mock.last_clear().sequence, mock.launch(first + 2).sequence);
  EXPECT_LT(mock.last_clear().sequence, mock.launch(first + 3).sequence);
}

TEST_F(MoeLayerStages, SortedTokensOfTheCallerAreUsed) {
  const Dispatcher own = dispatcher();
  const auto sorts = own.plan(problem(), device(0));
  const auto plan = own.plan(problem().block_m(kBlockM), device(0));
  ASSERT_TRUE(plan) << plan.status().message;
  EXPECT_EQ(plan->stage_count, 4U);
  EXPECT_EQ(plan->stages[0].kind, StageKind::kernel);
  EXPECT_LT(plan->workspace_size, sorts->workspace_size);
  MoeArgs mine = args();
  EXPECT_STREQ(own.run(*plan, mine, nullptr).message,
               "topk_ids were given, but the plan's problem says that the tokens are sorted in blocks of 32");
  mine.topk_ids = nullptr;
  auto* entries = reinterpret_cast<std::int32_t*>(memory.data());
  mine.sorted = {entries, reinterpret_cast<float*>(entries), entries, entries + 8};
  for (const Plan& one : {*plan, *sorts}) {
    const int first = mock.counts().launches;
    const Status status = own.run(one, mine, nullptr);
    ASSERT_TRUE(status.ok()) << status.message;
    ASSERT_EQ(mock.counts().launches, first + 3);
    EXPECT_EQ(arrived<KernelArgs>(first, "gate_up").sorted.valid, entries + 8);
    EXPECT_EQ(arrived<KernelArgs>(first + 2, "down").sorted.valid, entries + 8);
  }
}

TEST_F(MoeLayerStages, LaunchingAgainAllocatesNothing) {
  const Dispatcher own = dispatcher();
  const auto plan = own.plan(problem(), device(0));
  unsigned char* begin = workspace(plan->workspace_size);
  const MoeArgs mine = args();
  ASSERT_TRUE(own.preload(*plan).ok());
  ASSERT_TRUE(own.run(*plan, mine, begin, nullptr).ok());
  const long before = allocations();
  const bool good = own.run(*plan, mine, begin, nullptr).ok();
  EXPECT_EQ(allocations(), before);
  EXPECT_TRUE(good);
}

TEST_F(MoeLayerStages, AStageWithoutAKernelIsSaidByThePlan) {
  const Dispatcher own = dispatcher();
  code.code(0).moe = nullptr;
  EXPECT_STREQ(own.plan(problem(), device(0))->launchable.message,
               "gate_up has no kernel that sorts tokens: sort them in blocks of 32 rows and ask for block_m 32");
  EXPECT_TRUE(own.plan(problem().block_m(32), device(0))->launchable.ok());
  code.code(1).moe = nullptr;
  const auto plan = own.plan(problem().block_m(32), device(0));
  EXPECT_STREQ(plan->launchable.message, "down has no kernel that quantises what gate_up writes");
  EXPECT_STREQ(own.run(*plan, args(), nullptr).message, plan->launchable.message);
  EXPECT_STREQ(own.plan(problem(), device(2))->launchable.message,
               "no GPU code for gfx950, only for gfx942: gate_up cannot run on gfx950");
}

TEST_F(MoeLayerStages, AMissingPartIsSaidByThePlan) {
  ASSERT_TRUE(registry.add(instance("layer", kLayer, MoePart::layer)).ok());
  const Dispatcher alone(registry, DispatcherOptions{});
  EXPECT_STREQ(alone.plan(problem(), device(0))->launchable.message, "layer: no registered instance is its gate_up");
  ASSERT_TRUE(registry.add(instance("gate_up", kGateUp, MoePart::gate_up)).ok());
  InstanceDesc other = instance("down", kDown, MoePart::down);
  other.macro_tile.m = 64;
  ASSERT_TRUE(registry.add(other).ok());
  EXPECT_STREQ(Dispatcher(registry, DispatcherOptions{}).plan(problem(), device(0))->launchable.message,
               "layer: no registered instance is its down");
}

TEST_F(MoeLayerStages, APartsDemandIsSaidByThePlan) {
  ASSERT_TRUE(registry.add(instance("layer", kLayer, MoePart::layer)).ok());
  ASSERT_TRUE(registry.add(instance("gate_up", kGateUp, MoePart::gate_up)).ok());
  InstanceDesc other = instance("down", kDown, MoePart::down);
  other.constraints.k_multiple = 256;
  ASSERT_TRUE(registry.add(other).ok());
  ASSERT_TRUE(registry.attach(code.library()).ok());
  EXPECT_STREQ(Dispatcher(registry, DispatcherOptions{}).plan(problem(), device(0))->launchable.message,
               "down: K = 64 is not a multiple of 256 (rule gemm.instance.k-multiple)");
}

TEST_F(MoeLayerStages, APartAloneIsOneKernel) {
  const Dispatcher own = dispatcher();
  const auto up_plan = own.plan(problem(MoePart::gate_up), device(0));
  ASSERT_TRUE(up_plan) << up_plan.status().message;
  EXPECT_EQ(kinds(*up_plan), "kernel");
  EXPECT_EQ(up_plan->problem.block_m(), kBlockM);
  const auto down_plan =
      own.plan(Problem(signature(MoePart::down)).shape(kTokens, kModel, kInter).routing(kRouting), device(0));
  ASSERT_TRUE(down_plan) << down_plan.status().message;
  EXPECT_EQ(kinds(*down_plan), "reset_output kernel");
  MoeArgs mine = args();
  auto* entries = reinterpret_cast<std::int32_t*>(memory.data());
  mine.sorted = {entries, reinterpret_cast<float*>(entries), entries, entries};
  const Status status = own.run(*down_plan, mine, nullptr);
  ASSERT_TRUE(status.ok()) << status.message;
  EXPECT_EQ(c[0], 0);
  EXPECT_EQ(c[kModel], 0xffff);
}

TEST_F(MoeLayerStages, RowsOfSlotsAreZeroedBeforeDownAndAddedBehindIt) {
  add_slots();
  const Dispatcher own = dispatcher();
  const auto layer = own.plan(problem(), device(0));
  ASSERT_TRUE(layer) << layer.status().message;
  EXPECT_EQ(kinds(*layer), "sort kernel quantize reset_workspace kernel add_slots");
  const std::uint64_t rows = layer->stages[4].workspace_offset, bytes = 3 * 100 + kModel;
  EXPECT_EQ(layer->workspace_size, rows + bytes);
  unsigned char* begin = workspace(layer->workspace_size);
  const int first = mock.counts().launches;
  int stream = 0;
  const Status status = own.run(*layer, args(), begin, &stream);
  ASSERT_TRUE(status.ok()) << status.message;
  ASSERT_EQ(mock.counts().launches, first + 5);
  EXPECT_EQ(mock.launch(first + 4).stream, &stream);
  EXPECT_EQ(mock.last_clear().stream, &stream);
  EXPECT_EQ(arrived<KernelArgs>(first + 3, "down").workspace, begin + rows);
  const auto added = arrived<AddSlotsArgs>(first + 4, "add_slots");
  EXPECT_EQ(added.slots, begin + rows);
  EXPECT_EQ(added.c, c.data());
  EXPECT_EQ(added.n, kModel);
  EXPECT_EQ(added.ldc, kModel + 8);
  EXPECT_EQ(std::count(begin + rows, begin + rows + bytes, 0), static_cast<std::ptrdiff_t>(bytes));
  EXPECT_LT(mock.last_clear().sequence, mock.launch(first + 3).sequence);

  const auto down =
      own.plan(Problem(signature(MoePart::down)).shape(kTokens, kModel, kInter).routing(kRouting), device(0));
  ASSERT_TRUE(down) << down.status().message;
  EXPECT_EQ(kinds(*down), "reset_workspace kernel add_slots");
  EXPECT_EQ(down->workspace_size, bytes);
}

TEST_F(MxLayerStages, ScalesBetweenStagesHaveTheOrderThatTheCallersHave) {
  const Dispatcher own = dispatcher();
  const auto plan = own.plan(problem(), device(0));
  ASSERT_TRUE(plan) << plan.status().message;
  ASSERT_TRUE(plan->launchable.ok()) << plan->launchable.message;
  unsigned char* begin = workspace(plan->workspace_size);
  for (const bool by_rows : {false, true})
    for (const bool shuffled : {false, true}) {
      SCOPED_TRACE(testing::Message() << "by rows " << by_rows << ", shuffled " << shuffled);
      MoeArgs mine = args();
      mine.a_scale_row_major = by_rows;
      mine.mx_scale_shuffled = shuffled;
      const int first = mock.counts().launches;
      const Status status = own.run(*plan, mine, begin, nullptr);
      ASSERT_TRUE(status.ok()) << status.message;
      const auto sort = arrived<SortArgs>(first, "sort");
      EXPECT_EQ(arrived<KernelArgs>(first + 1, "gate_up").a_scale_row_major, by_rows);
      const auto quantize = arrived<QuantizeArgs>(first + 2, "quantize");
      EXPECT_EQ(quantize.to_type, DType::fp8_ocp);
      EXPECT_EQ(quantize.shuffled, shuffled);
      EXPECT_EQ(std::memcmp(&quantize.sorted, &sort.sorted, sizeof sort.sorted), 0);
      const auto down = arrived<KernelArgs>(first + 3, "down");
      EXPECT_EQ(down.a_scale, quantize.scales);
      EXPECT_EQ(down.a_scale_row_major, by_rows);
    }
}

TEST_F(UnscaledLayerStages, WhatNeedsNoQuantisingGoesStraightToDown) {
  const Dispatcher own = dispatcher();
  const auto plan = own.plan(problem().block_m(kBlockM), device(0));
  ASSERT_TRUE(plan) << plan.status().message;
  ASSERT_TRUE(plan->launchable.ok()) << plan->launchable.message;
  EXPECT_EQ(kinds(*plan), "kernel reset_output kernel");
  MoeArgs mine = args();
  mine.topk_ids = nullptr;
  auto* entries = reinterpret_cast<std::int32_t*>(memory.data());
  mine.sorted = {entries, reinterpret_cast<float*>(entries), entries, entries};
  const int first = mock.counts().launches;
  const Status status = own.run(*plan, mine, nullptr);
  ASSERT_TRUE(status.ok()) << status.message;
  const auto gate_up = arrived<KernelArgs>(first, "gate_up");
  const auto down = arrived<KernelArgs>(first + 1, "down");
  EXPECT_EQ(down.a, gate_up.c);
  EXPECT_EQ(down.a_scale, nullptr);
}

}  // namespace test_moe_stages
