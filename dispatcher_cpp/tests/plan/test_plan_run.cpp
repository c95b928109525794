// Plans, and runs of host twins on a simulated device.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "backends/host/gemm/gemm.hpp"
#include "tiny_library.hpp"

namespace test_plan_run {

using namespace ckgen;

constexpr Signature kFp32{};

Status own_kernel(const Launch& launch) noexcept {
  *static_cast<int*>(launch.instance->context) += 1;
  return Status::success();
}

constexpr InstanceDesc kTwin = [] {
  InstanceDesc twin = tiny::instance("fp32_twin", 50, kFp32, {16, 16, 16}, {0, 0, 0, 0, 0, 4, false});
  return twin;
}();

class Run : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(registry.add(kTwin).ok());
    dispatcher = Dispatcher(registry, DispatcherOptions{});
    a.assign(m * k, 1.0F);
    b.assign(n * k, 2.0F);
    c.assign(m * n, 0.0F);
  }
  Problem problem() const { return Problem(kFp32).shape(m, n, k); }
  GemmArgs args() {
    GemmArgs args{};
    args.a = a.data();
    args.b = b.data();
    args.c = c.data();
    args.m = m;
    args.n = n;
    args.k = k;
    args.batch = 1;
    args.lda = k;
    args.ldb = k;
    args.ldc = n;
    return args;
  }
  Result<Plan> plan() const { return dispatcher.plan(problem(), device); }

  static constexpr std::int64_t m = 5, n = 6, k = 40;
  Registry registry;
  Dispatcher dispatcher{Registry(), DispatcherOptions{}};
  Device device = Device::simulated("gfx942");
  std::vector<float> a, b, c;
};

TEST_F(Run, ATwinComputesOnASimulatedDevice) {
  const auto made = plan();
  ASSERT_TRUE(made) << made.status().message;
  ASSERT_TRUE(made->launchable.ok()) << made->launchable.message;
  const Status status = dispatcher.run(*made, args(), nullptr);
  ASSERT_TRUE(status.ok()) << status.message;
  for (const float value : c) EXPECT_EQ(value, 80.0F);
}

TEST_F(Run, TheCallersWorkspaceIsEnough) {
  const auto made = plan();
  ASSERT_TRUE(made);
  std::vector<unsigned char> room(made->workspace_size + 64);
  void* aligned = room.data() + (64 - reinterpret_cast<std::uintptr_t>(room.data()) % 64) % 64;
  EXPECT_TRUE(dispatcher.run(*made, args(), aligned, nullptr).ok());
  EXPECT_EQ(c[0], 80.0F);
}

TEST_F(Run, WhatIsBoundReadsItsOperandsAtEachRun) {
  const auto made = plan();
  ASSERT_TRUE(made);
  const GemmArgs of_bound = args();
  const auto bound = dispatcher.bind(*made, of_bound);
  ASSERT_TRUE(bound) << bound.status().message;
  EXPECT_EQ(c[0], 0.0F) << "binding does not run";
  const BoundRun copy = *bound;
  for (const float value : {2.0F, 3.0F}) {
    b.assign(n * k, value);
    ASSERT_TRUE(copy.run(nullptr).ok());
    for (const float element : c) ASSERT_EQ(element, 40 * value);
  }
}

TEST_F(Run, WhatDoesNotFitIsNotBound) {
  const auto made = plan();
  ASSERT_TRUE(made);
  GemmArgs wrong = args();
  wrong.m = 4;
  EXPECT_EQ(dispatcher.bind(*made, wrong).status().code, StatusCode::invalid_argument);
  EXPECT_EQ(std::string(BoundRun().run(nullptr).message), "nothing is bound");
}

TEST_F(Run, ThreadsShareThePool) {
  const auto made = plan();
  ASSERT_TRUE(made);
  std::vector<std::vector<float>> outputs(4, std::vector<float>(m * n));
  std::vector<std::thread> threads;
  for (auto& output : outputs) {
    threads.emplace_back([&] {
      GemmArgs own = args();
      own.c = output.data();
      for (int i = 0; i < 20; ++i) ASSERT_TRUE(dispatcher.run(*made, own, nullptr).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& output : outputs) {
    for (const float value : output) ASSERT_EQ(value, 80.0F);
  }
}

TEST_F(Run, ArgumentsThatDoNotFitAreRefusedByName) {
  const auto made = plan();
  ASSERT_TRUE(made);
  const auto refusal = [&](void (*change)(GemmArgs&)) {
    GemmArgs wrong = args();
    change(wrong);
    const Status status = dispatcher.run(*made, wrong, nullptr);
    EXPECT_EQ(status.code, StatusCode::invalid_argument);
    return std::string(status.message);
  };
  EXPECT_EQ(refusal([](GemmArgs& x) { x.a = nullptr; }), "A is null");
  EXPECT_EQ(refusal([](GemmArgs& x) { x.c = nullptr; }), "C is null");
  EXPECT_EQ(refusal([](GemmArgs& x) { x.a_scale_stride = 9; }),
            "a_scale_stride is of groups, and this is one GEMM: run it as one group, or copy a_scale without gaps");
  EXPECT_EQ(refusal([](GemmArgs& x) { x.lda = 39; }), "the leading dimension of A = 39 is below 40");
  EXPECT_EQ(refusal([](GemmArgs& x) { x.ldc = -1; }), "the leading dimension of C = -1 is below 6");
  EXPECT_EQ(refusal([](GemmArgs& x) { x.ldb = std::numeric_limits<std::int64_t>::max(); }),
            "B has more bits than 64-bit integers count");
  EXPECT_NE(refusal([](GemmArgs& x) { x.m = 4; }).find("M=4 N=6 K=40 batch=1, the plan for M=5"), std::string::npos);
  EXPECT_NE(refusal([](GemmArgs& x) { x.n = 5; }).find("M=5 N=5 K=40 batch=1, the plan for M=5"), std::string::npos);
  EXPECT_NE(refusal([](GemmArgs& x) { x.k = 39; }).find("M=5 N=6 K=39 batch=1, the plan for M=5"), std::string::npos);
  EXPECT_NE(refusal([](GemmArgs& x) { x.batch = 2; }).find("K=40 batch=2, the plan for M=5"), std::string::npos);
}

TEST_F(Run, AProblemOfOneKReadsAAndB) {
  const auto made = dispatcher.plan(Problem(kFp32).shape(m, n, 1), device);
  ASSERT_TRUE(made);
  GemmArgs wrong = args();
  wrong.k = 1;
  wrong.b = nullptr;
  EXPECT_STREQ(dispatcher.run(*made, wrong, nullptr).message, "B is null");
}

TEST_F(Run, TensorsBesideAAndBAreCheckedLikeThem) {
  Signature fused = kFp32;
  fused.batched = true;
  fused.epilogue = {{EpilogueOp::add, EpilogueOp::relu, EpilogueOp::mul}};
  fused.a_op = OperandOp::add;
  fused.b_op = OperandOp::mul;
  InstanceDesc twin = tiny::instance("fused", 52, fused, {16, 16, 16}, {0, 0, 0, 0, 0, 1, false});
  ASSERT_TRUE(registry.add(twin).ok());
  const Dispatcher dispatch{registry, DispatcherOptions{}};
  const auto made = dispatch.plan(Problem(fused).shape(m, n, k).batch(2), device);
  ASSERT_TRUE(made) << made.status().message;
  const auto refusal = [&](void (*change)(GemmArgs&)) {
    GemmArgs x = args();
    x.batch = 2;
    x.batch_stride_c = 30;
    x.a1 = x.a;
    x.b1 = x.b;
    for (int i = 0; i < kMaxD; ++i) x.d[i] = x.c;
    change(x);
    return std::string(dispatch.run(*made, x, nullptr).message);
  };
  EXPECT_EQ(refusal([](GemmArgs& x) { x.a1 = nullptr; }), "A1 is null");
  EXPECT_EQ(refusal([](GemmArgs& x) { x.b1 = nullptr; }), "B1 is null");
  EXPECT_EQ(refusal([](GemmArgs& x) { x.d[1] = nullptr; }), "D1 is null");
  EXPECT_EQ(refusal([](GemmArgs& x) { x.ldd[0] = 5; }), "the leading dimension of D0 = 5 is below 6");
  EXPECT_EQ(refusal([](GemmArgs& x) { x.batch_stride_d[0] = 5; }), "the batch stride of D0 = 5 is below 6");
  EXPECT_EQ(refusal([](GemmArgs& x) { x.ldd[1] = std::numeric_limits<std::int64_t>::max() / 4; }),
            "D1 has more bits than 64-bit integers count");
}

/// What a run says of arguments of which one, if any, is null.
std::string said_of(const Signature& signature, const void* GemmArgs::* missing) {
  InstanceDesc counting = tiny::instance("counting", 53, signature, {16, 16, 16}, {0, 0, 0, 0, 0, 1, false});
  int launches = 0;
  counting.twin = own_kernel;
  counting.workspace = nullptr;
  counting.context = &launches;
  Registry registry;
  EXPECT_TRUE(registry.add(counting).ok());
  const Dispatcher dispatcher{registry, DispatcherOptions{}};
  const auto made = dispatcher.plan(Problem(signature).shape(16, 128, 128), Device::simulated("gfx942"));
  EXPECT_TRUE(made) << made.status().message;
  float memory = 0;
  GemmArgs args{};
  args.a = args.b = args.a_scale = args.b_scale = args.bias = args.c = &memory;
  args.m = 16;
  args.n = args.k = args.lda = args.ldb = args.ldc = 128;
  args.batch = 1;
  if (missing != nullptr) args.*missing = nullptr;
  const std::string message = dispatcher.run(*made, args, nullptr).message;
  EXPECT_EQ(launches, message.empty() ? 1 : 0);
  return message;
}

TEST(RunScaled, ScalesAndBiasAreAskedForWhereTheSignatureHasThem) {
  const auto with = [](Quant quant, ScaleSides sides = ScaleSides::both) {
    Signature s{Op::gemm, DType::fp8_fnuz, DType::fp8_fnuz, DType::bf16, DType::fp32, DType::fp32, Layout::rcr, quant};
    if (quant == Quant::none) s.scale = DType::none;
    if (quant == Quant::mx) s.scale = DType::e8m0;
    if (quant == Quant::blockscale) s.scale_block.sides = sides;
    return s;
  };
  const auto of_a = &GemmArgs::a_scale, of_b = &GemmArgs::b_scale;
  const std::string a_is_null = "a_scale is null", b_is_null = "b_scale is null";
  for (const Quant quant : {Quant::rowwise, Quant::per_tensor, Quant::blockscale, Quant::mx}) {
    EXPECT_EQ(said_of(with(quant), of_a), a_is_null) << name(quant);
    EXPECT_EQ(said_of(with(quant), of_b), b_is_null) << name(quant);
    EXPECT_EQ(said_of(with(quant), &GemmArgs::bias), "") << name(quant);
  }
  for (const auto missing : {of_a, of_b, &GemmArgs::bias}) EXPECT_EQ(said_of(with(Quant::none), missing), "");
  EXPECT_EQ(said_of(with(Quant::blockscale, ScaleSides::a), of_a), a_is_null);
  EXPECT_EQ(said_of(with(Quant::blockscale, ScaleSides::a), of_b), "");
  EXPECT_EQ(said_of(with(Quant::blockscale, ScaleSides::b), of_a), "");
  EXPECT_EQ(said_of(with(Quant::blockscale, ScaleSides::b), of_b), b_is_null);
  Signature biased = with(Quant::none);
  biased.bias = true;
  EXPECT_EQ(said_of(biased, &GemmArgs::bias), "bias is null");
  EXPECT_EQ(said_of(biased, nullptr), "");
}

/// The lines of each matrix follow the layout, which the sizes 16, 32 and 48 tell apart.
TEST(RunLayouts, LeadingDimensionsAreThoseOfTheLayout) {
  struct Case {
    Layout layout;
    std::int64_t lda, ldb;  // the least
  };
  for (const Case& x :
       {Case{Layout::rcr, 48, 48}, Case{Layout::rrr, 48, 32}, Case{Layout::ccr, 16, 48}, Case{Layout::crr, 16, 32}}) {
    Signature signature = kFp32;
    signature.layout = x.layout;
    Registry registry;
    ASSERT_TRUE(registry.add(tiny::instance("any", 54, signature, {16, 16, 16}, {0, 0, 0, 0, 0, 1, false})).ok());
    const Dispatcher dispatcher{registry, DispatcherOptions{}};
    const auto made = dispatcher.plan(Problem(signature).shape(16, 32, 48), Device::simulated("gfx942"));
    ASSERT_TRUE(made) << made.status().message;
    std::vector<float> a(16 * 48), b(32 * 48), c(16 * 32);
    const auto said = [&](std::int64_t lda, std::int64_t ldb) {
      GemmArgs args{};
      args.a = a.data();
      args.b = b.data();
      args.c = c.data();
      args.m = 16, args.n = args.ldc = 32, args.k = 48, args.batch = 1;
      args.lda = lda;
      args.ldb = ldb;
      return std::string(dispatcher.run(*made, args, nullptr).message);
    };
    const auto below = [](const char* operand, std::int64_t least) {
      return "the leading dimension of " + std::string(operand) + " = " + std::to_string(least - 1) + " is below " +
             std::to_string(least);
    };
    EXPECT_EQ(said(x.lda, x.ldb), "") << name(x.layout);
    EXPECT_EQ(said(x.lda - 1, x.ldb), below("A", x.lda)) << name(x.layout);
    EXPECT_EQ(said(x.lda, x.ldb - 1), below("B", x.ldb)) << name(x.layout);
  }
}

/// B is N x K whatever the layout says, and dense.
TEST(RunLayouts, APreshuffledBHasNoLeadingDimension) {
  for (const Layout layout : {Layout::rcr, Layout::rrr}) {
    Signature signature{Op::gemm, DType::bf16, DType::bf16, DType::bf16, DType::fp32, DType::none, layout};
    signature.preshuffle_b = true;
    signature.batched = true;
    int launches = 0;
    InstanceDesc counting = tiny::instance("counting", 55, signature, {16, 16, 16}, {0, 0, 0, 0, 0, 1, false});
    counting.twin = own_kernel;
    counting.workspace = nullptr;
    counting.context = &launches;
    Registry registry;
    ASSERT_TRUE(registry.add(counting).ok());
    const Dispatcher dispatcher{registry, DispatcherOptions{}};
    const auto made = dispatcher.plan(Problem(signature).shape(16, 32, 48).batch(2), Device::simulated("gfx942"));
    ASSERT_TRUE(made) << made.status().message;
    float memory = 0;
    GemmArgs args{};
    args.a = args.b = args.c = &memory;
    args.m = 16, args.n = args.ldc = 32, args.k = args.lda = 48, args.batch = 2;
    args.batch_stride_b = 32 * 48;
    args.batch_stride_c = 16 * 32;
    args.ldb = -1;
    EXPECT_STREQ(dispatcher.run(*made, args, nullptr).message, "") << name(layout);
    args.batch_stride_b -= 1;
    EXPECT_STREQ(dispatcher.run(*made, args, nullptr).message, "the batch stride of B = 1535 is below 1536");
    EXPECT_EQ(launches, 1);
  }
}

TEST_F(Run, BatchesNeedRoomInC) {
  Signature batched = kFp32;
  batched.batched = true;
  InstanceDesc twin = tiny::instance("batched", 51, batched, {16, 16, 16}, {0, 0, 0, 0, 0, 1, false});
  ASSERT_TRUE(registry.add(twin).ok());
  const Dispatcher with_batches{registry, DispatcherOptions{}};
  const auto made = with_batches.plan(Problem(batched).shape(m, n, k).batch(2), device);
  ASSERT_TRUE(made) << made.status().message;
  GemmArgs two = args();
  two.batch = 2;
  EXPECT_STREQ(with_batches.run(*made, two, nullptr).message, "the batch stride of C = 0 is below 30");
}

TEST_F(Run, SizesThatOverflowAreRefused) {
  Signature batched = kFp32;
  batched.batched = true;
  ASSERT_TRUE(registry.add(tiny::instance("batched", 51, batched, {16, 16, 16}, {0, 0, 0, 0, 0, 1, false})).ok());
  const Dispatcher with_batches{registry, DispatcherOptions{}};
  constexpr std::int64_t most = 2147483647;
  const auto made = with_batches.plan(Problem(batched).shape(most, most, most).batch(most), device);
  EXPECT_EQ(made.status().code, StatusCode::invalid_argument);
}

TEST_F(Run, AUsersOwnFunctionIsLaunched) {
  int launches = 0;
  InstanceDesc own = kTwin;
  own.name = "own";
  own.id = 52;
  own.twin = own_kernel;
  own.workspace = nullptr;
  own.context = &launches;
  ASSERT_TRUE(registry.add(own).ok());
  const Dispatcher forced{registry, DispatcherOptions{false, "own", "", ""}};
  const auto made = forced.plan(problem(), device);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->workspace_size, 0U);
  EXPECT_TRUE(forced.run(*made, args(), nullptr).ok());
  const auto timed = forced.bench(*made, args(), {1, 4});
  ASSERT_TRUE(timed);
  EXPECT_EQ(launches, 6);
  EXPECT_LE(timed->min_us, timed->median_us);
  EXPECT_LE(timed->median_us, timed->max_us);
  EXPECT_FALSE(forced.bench(*made, args(), {0, 0}));
}

TEST_F(Run, APlanOfFewThreadsNeedsLessAndGivesTheSame) {
  if (host::all_threads() == 1) GTEST_SKIP() << "one thread";
  const auto workspace = [&](std::int32_t threads) {
    const auto made = dispatcher.plan(Problem(kFp32).shape(512, 512, 512).num_threads(threads), device);
    EXPECT_TRUE(made);
    EXPECT_EQ(made->problem.num_threads(), threads);
    return made->workspace_size;
  };
  EXPECT_LT(workspace(1), workspace(0));
  EXPECT_EQ(workspace(host::all_threads()), workspace(0));
  const auto made = dispatcher.plan(problem().num_threads(1), device);
  ASSERT_TRUE(made);
  ASSERT_TRUE(dispatcher.run(*made, args(), nullptr).ok());
  for (const float value : c) EXPECT_EQ(value, 80.0F);
}

TEST_F(Run, APrepackedBIsForInstancesOfTheCpuAlone) {
  std::vector<unsigned char> packed(*packed_b_bytes(kFp32, n, k));
  ASSERT_TRUE(pack_b(kFp32, {b.data(), n, k}, packed.data(), packed.size()).ok());
  GemmArgs prepacked = args();
  prepacked.b = packed.data();
  prepacked.ldb = 0;
  prepacked.b_prepacked = true;
  const auto twin = plan();
  ASSERT_TRUE(twin);
  const Status refused = dispatcher.run(*twin, prepacked, nullptr);
  EXPECT_EQ(refused.code, StatusCode::unsupported);
  EXPECT_STREQ(refused.message, "fp32_twin reads no prepacked B: pass B as it is, or plan for the CPU's own target");

  InstanceDesc own = kTwin;
  own.name = "of_the_cpu";
  own.id = 53;
  own.backend = Backend::host;
  own.host_config = {Isa::x86_64_v3, 6, 16, 64, 64, 64, 0};
  own.workspace = gemm_host_workspace_of;
  own.twin = launch_gemm_host;
  ASSERT_TRUE(registry.add(own).ok());
  const Dispatcher forced{registry, DispatcherOptions{false, "of_the_cpu", "", ""}};
  const auto made = forced.plan(problem(), device);
  ASSERT_TRUE(made);
  const Status status = forced.run(*made, prepacked, nullptr);
  ASSERT_TRUE(status.ok()) << status.message;
  for (const float value : c) EXPECT_EQ(value, 80.0F);
  packed[20] ^= 1;
  EXPECT_STREQ(forced.run(*made, prepacked, nullptr).message, "the header of the packed B is damaged: pack it anew");
  prepacked.b = b.data();
  EXPECT_STREQ(forced.run(*made, prepacked, nullptr).message,
               "B is no packed B: make it with pack_b, or leave b_prepacked unset");
}

TEST_F(Run, ReasonsComeWithThePlan) {
  EXPECT_STREQ(dispatcher.plan(gemm("fp16").shape(1, 1, 1), device).status().message,
               "no instance of this signature was built for this device (rule gemm.no-instance)");
  EXPECT_NE(std::string(dispatcher.plan(gemm("nonsense").shape(1, 1, 1), device).status().message).find("nonsense"),
            std::string::npos);
  EXPECT_FALSE(dispatcher.run(Plan{}, args(), nullptr).ok());
  InstanceDesc bare = kTwin;
  bare.name = "bare";
  bare.id = 53;
  bare.twin = nullptr;
  ASSERT_TRUE(registry.add(bare).ok());
  const auto made = Dispatcher(registry, DispatcherOptions{false, "bare", "", ""}).plan(problem(), device);
  ASSERT_TRUE(made);
  EXPECT_STREQ(made->launchable.message, "bare has no host twin: it cannot run on gfx942");
}

TEST_F(Run, ASelectionOfAnotherDispatcherIsRefused) {
  Selection foreign;
  foreign.instance = 17;
  EXPECT_EQ(dispatcher.plan(problem(), device, foreign).status().code, StatusCode::invalid_argument);
}

}  // namespace test_plan_run
