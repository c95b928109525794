// GPUs of NVIDIA on the mock driver: devices, what is loaded and launched, errors, and both vendors in one process.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <ckgen/table_product.hpp>
#include <ckgen/tensor_map.hpp>

#include "mock_cuda/mock_cuda.hpp"
#include "src/gpu/workspace_pool.hpp"
#include "tiny_device.hpp"
#include "tiny_library.hpp"

namespace test_cuda {

using namespace ckgen;

// Ahead of everything that opens a runtime.
const int environment = [] {
  setenv("CKGEN_HIP_LIBRARY", "/no/such/library.so", 1);
  setenv("CKGEN_CUDA_LIBRARY", CKGEN_MOCK_CUDA, 1);
  return 0;
}();

constexpr std::uint64_t kId = 77;
constexpr std::int64_t kM = 128, kN = 1024, kK = 2048;

/// tiny_prepare for a kernel in clusters with much shared memory.
Status prepare_cluster(const Launch& launch, Arch arch, std::uint32_t cu_num, KernelCall& out) noexcept {
  const Status status = tiny::prepare(launch, arch, cu_num, out);
  out.grid[0] = 8;
  out.cluster[0] = 2;
  out.dynamic_lds = 200000;
  return status;
}

class CudaTest : public ::testing::Test {
 protected:
  CudaTest() {
    void* library = dlopen(CKGEN_MOCK_CUDA, RTLD_NOW);
    const auto find = [&]<class Function>(Function*& out, const char* name) {
      out = reinterpret_cast<Function*>(dlsym(library, name));
      if (out == nullptr) std::abort();
    };
    find(counts, "mock_cuda_counts");
    find(last_launch, "mock_cuda_last_launch");
    find(fail, "mock_cuda_fail");
    find(enter, "mock_cuda_enter");
    find(renew_streams, "mock_cuda_renew_streams");
  }
  void TearDown() override {
    fail("", 0);
    enter(-1);
  }

  /// A dispatcher that always takes an instance for sm_90a with this code.
  Dispatcher dispatcher(PrepareFn prepare = prepare_cluster, Backend backend = tiny::instances[1].backend) {
    Registry registry = tiny::registry();
    InstanceDesc hopper = tiny::instances[1];
    hopper.name = "hopper";
    hopper.id = kId;
    hopper.archs = tiny::bit(Arch::sm_90a);
    hopper.backend = backend;
    EXPECT_TRUE(registry.add(hopper).ok());
    code.add(kId, {Arch::sm_90a}, prepare);
    const Status status = registry.attach(code.library());
    EXPECT_TRUE(status.ok()) << status.message;
    return Dispatcher(registry, DispatcherOptions{false, "hopper", "", ""});
  }
  static Plan plan(const Dispatcher& of, const Device& on) {
    const auto made = of.plan(tiny::problem(kM, kN, kK), on);
    EXPECT_TRUE(made) << made.status().message;
    EXPECT_TRUE(made->launchable.ok()) << made->launchable.message;
    return *made;
  }
  GemmArgs args() {
    GemmArgs args{};
    args.a = operands.data();
    args.b = operands.data() + 16;
    args.c = c.data();
    args.m = kM;
    args.n = args.ldc = kN;
    args.k = args.lda = args.ldb = kK;
    args.batch = 1;
    return args;
  }

  decltype(&mock_cuda_counts) counts;
  decltype(&mock_cuda_last_launch) last_launch;
  decltype(&mock_cuda_fail) fail;
  decltype(&mock_cuda_enter) enter;
  decltype(&mock_cuda_renew_streams) renew_streams;
  tiny::Code code;
  std::vector<std::uint16_t> operands = std::vector<std::uint16_t>(64);
  std::vector<std::uint16_t> c = std::vector<std::uint16_t>(kM * kN, 0xffff);
};

TEST_F(CudaTest, AThreadWithoutAContextIsOnThePrimaryOneOfTheFirstDevice) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      const Device device = Device::current();
      EXPECT_EQ(device.kind(), DeviceKind::gpu);
      EXPECT_EQ(device.arch(), Arch::sm_90a);
      EXPECT_EQ(device.cu_num(), 132U);
      EXPECT_EQ(device.id(), 0);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counts().retains, 1) << "one reference for the process";
  enter(1);
  EXPECT_EQ(Device::current().cu_num(), 114U) << "a context that a thread has stays";
}

TEST_F(CudaTest, AnH200IsToldFromAnH100ByNameAndTakesItsOwnRow) {
  static constexpr InstanceDesc kernels[] = {
      tiny::instance("of_all", 71, tiny::fp16, {128, 128, 64}, {0, 0, 0, 0, 0, 1, false}, tiny::bit(Arch::sm_90a)),
      tiny::instance("of_h200", 72, tiny::fp16, {64, 64, 64}, {0, 0, 0, 0, 0, 1, false}, tiny::bit(Arch::sm_90a))};
  static constexpr Rung all_rungs[] = {describe::rung(kM, 0)}, own_rungs[] = {describe::rung(kM, 1)};
  static constexpr Group all_groups[] = {describe::ladder<all_rungs>(kN, kK)},
                         own_groups[] = {describe::ladder<own_rungs>(kN, kK)};
  static constexpr auto all_slots = describe::slots_of(all_groups), own_slots = describe::slots_of(own_groups);
  static constexpr LookupTable of_all = describe::lookup_table(Arch::sm_90a, 132, tiny::policy, all_groups, all_slots),
                               of_h200 = describe::lookup_table(Arch::sm_90a, 132, tiny::policy, own_groups, own_slots);
  static constexpr const LookupTable* tables[] = {&of_all, &of_h200};
  static constexpr TableProduct products[] = {{1, "h200"}};
  SignatureUnit unit{"gemm_fp16_rcr", tiny::fp16, kernels, 2, tables, 2, nullptr, 0, nullptr, 0};
  unit.own_tables = products;
  unit.own_table_count = 1;
  const SignatureUnit* const units[] = {&unit};
  Registry registry;
  ASSERT_TRUE(registry.add(Library{"hopper", CKGEN_RUNTIME_ABI, 1, units, 1}).ok());
  const Dispatcher own(registry, DispatcherOptions{});
  struct Case {
    int id;
    const char *sku, *chosen;
  };
  for (const Case& x : {Case{0, "", "of_all"}, Case{3, "h100", "of_all"}, Case{4, "h200", "of_h200"}}) {
    enter(x.id);
    const Device device = Device::current();
    EXPECT_STREQ(device.sku(), x.sku) << device.brand();
    const Selection found = own.select(tiny::problem(kM, kN, kK), device);
    ASSERT_TRUE(found);
    EXPECT_EQ(found.tier, Tier::exact);
    EXPECT_STREQ(registry.instance(found.instance).name, x.chosen) << device.brand();
  }
}

TEST_F(CudaTest, AnArchWithoutASpecIsNamedAndRefused) {
  enter(2);
  const Device device = Device::current();
  EXPECT_FALSE(device);
  EXPECT_STREQ(device.gfx(), "sm_89");
}

TEST_F(CudaTest, TheCallArrivesWithItsClusterAndItsArgumentByPointer) {
  const Dispatcher own = dispatcher();
  int stream = 0;
  const Status status = own.run(plan(own, Device::current()), args(), nullptr, &stream);
  ASSERT_TRUE(status.ok()) << status.message;
  const MockCudaLaunch launch = last_launch();
  EXPECT_STREQ(launch.symbol, "tiny_set");
  EXPECT_EQ(launch.grid[0], 8U);
  EXPECT_EQ(launch.block[0], 256U);
  EXPECT_EQ(launch.cluster[0], 2U);
  EXPECT_EQ(launch.cluster[1], 1U);
  EXPECT_EQ(launch.shared, 200000U) << "above what a kernel has without saying so";
  EXPECT_EQ(launch.stream, &stream);
  EXPECT_TRUE(launch.aligned);
  tiny::KernelArgs arrived;
  std::memcpy(&arrived, launch.args, sizeof arrived);
  EXPECT_EQ(arrived.c, c.data());
  EXPECT_EQ(arrived.cu_num, 132U);
}

/// Four workgroups along z share a tile.
Status prepare_parts(const Launch& launch, Arch arch, std::uint32_t cu_num, KernelCall& out) noexcept {
  const Status status = tiny::prepare(launch, arch, cu_num, out);
  out.grid[2] = 12;
  out.cluster[2] = 4;
  return status;
}

TEST_F(CudaTest, AClusterMayLieAlongZ) {
  const Dispatcher own = dispatcher(prepare_parts);
  ASSERT_TRUE(own.run(plan(own, Device::current()), args(), nullptr, nullptr).ok());
  const MockCudaLaunch launch = last_launch();
  EXPECT_EQ(launch.grid[2], 12U);
  EXPECT_EQ(launch.cluster[0], 1U);
  EXPECT_EQ(launch.cluster[2], 4U);
}

TEST_F(CudaTest, ARunAgainIsOneLaunch) {
  const Dispatcher own = dispatcher();
  const Plan made = plan(own, Device::current());
  ASSERT_TRUE(own.run(made, args(), nullptr, nullptr).ok());
  const MockCudaCounts before = counts();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(own.run(made, args(), nullptr, nullptr).ok());
  EXPECT_EQ(counts().launches - before.launches, 10);
  EXPECT_EQ(counts().sequence - before.sequence, 10 * 3) << "a launch, and where the thread is";
  EXPECT_EQ(counts().limits, before.limits);
}

TEST_F(CudaTest, ABoundRunIsOneCallOfTheDriver) {
  const Dispatcher own = dispatcher();
  const Plan made = plan(own, Device::current());
  const MockCudaCounts before = counts();
  {
    const GemmArgs of_bound = args();
    const auto bound = own.bind(made, of_bound);
    ASSERT_TRUE(bound) << bound.status().message;
    EXPECT_EQ(counts().launches, before.launches) << "what is captured does not run";
    EXPECT_EQ(counts().streams, before.streams);
    const int sequence = counts().sequence;
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(bound->run(nullptr).ok());
    EXPECT_EQ(counts().launches - before.launches, 10);
    EXPECT_EQ(counts().sequence - sequence, 10 * 1);
    const void* argument;
    std::memcpy(&argument, last_launch().args, sizeof argument);
    EXPECT_EQ(argument, of_bound.a);
  }
  EXPECT_EQ(counts().graphs, before.graphs);
}

TEST_F(CudaTest, WhatCannotBeBoundLeavesNothing) {
  const Dispatcher own = dispatcher();
  const Plan made = plan(own, Device::current());
  const MockCudaCounts before = counts();
  const GemmArgs of_bound = args();
  for (const char* const call : {"cuStreamCreate", "cuStreamBeginCapture_v2", "cuLaunchKernelEx", "cuStreamEndCapture",
                                 "cuGraphInstantiateWithFlags"}) {
    fail(call, 719);
    const auto bound = own.bind(made, of_bound);
    EXPECT_EQ(std::string(bound.status().message).find(std::string(call) + " answered with CUDA error 719"), 0U)
        << bound.status().message;
    EXPECT_EQ(bound->run(nullptr).code, StatusCode::invalid_argument);
    fail("", 0);
    EXPECT_EQ(counts().streams, before.streams) << call;
    EXPECT_EQ(counts().graphs, before.graphs) << call;
  }
  GemmArgs wrong = args();
  wrong.a = nullptr;
  EXPECT_EQ(std::string(own.bind(made, wrong).status().message), "A is null");
  EXPECT_EQ(counts().graphs, before.graphs);
}

TEST_F(CudaTest, AThreadWithoutAContextCanRunWhatAnotherBound) {
  const Dispatcher own = dispatcher();
  const GemmArgs of_bound = args();
  const auto bound = own.bind(plan(own, Device::current()), of_bound);
  ASSERT_TRUE(bound) << bound.status().message;
  Status status;
  std::thread([&] { status = bound->run(nullptr); }).join();
  EXPECT_TRUE(status.ok()) << status.message;
}

/// A kernel whose counters lie 64 bytes into its workspace.
Status prepare_counters(const Launch& launch, Arch arch, std::uint32_t cu_num, KernelCall& out) noexcept {
  const Status status = prepare_cluster(launch, arch, cu_num, out);
  if (launch.workspace != nullptr) out.flags = Clear{static_cast<char*>(launch.workspace) + 64, 32, 32, 1};
  return status;
}

TEST_F(CudaTest, CountersOfAWorkspaceAreZeroedAheadOfTheKernel) {
  const Dispatcher own = dispatcher(prepare_counters);
  const Plan made = plan(own, Device::current());
  alignas(64) std::array<unsigned char, 128> workspace;
  workspace.fill(0xff);
  const int before = counts().clears;
  ASSERT_TRUE(own.run(made, args(), workspace.data(), nullptr).ok());
  EXPECT_EQ(counts().clears, before + 1);
  EXPECT_EQ(counts().sequence, last_launch().sequence) << "the launch came last";
  for (std::size_t i = 0; i < workspace.size(); ++i) EXPECT_EQ(workspace[i], i < 64 || i >= 96 ? 0xff : 0) << i;
  fail("cuMemsetD8Async", 999);
  const Status status = own.run(made, args(), workspace.data(), nullptr);
  EXPECT_FALSE(status.ok());
  EXPECT_NE(std::string(status.message).find("cuMemsetD8Async"), std::string::npos) << status.message;
}

/// Stages of a plan with two splits.
std::uint32_t stages_of_splits(const Dispatcher& own) {
  Selection selection = own.select(tiny::problem(kM, kN, kK), Device::current());
  selection.k_batch = 2;
  const auto made = own.plan(tiny::problem(kM, kN, kK), Device::current(), selection);
  EXPECT_TRUE(made) << made.status().message;
  return made ? made->stage_count : 0;
}

TEST_F(CudaTest, SplitsOfCutlassMeetInAWorkspaceAndResetNoOutput) {
  EXPECT_EQ(stages_of_splits(dispatcher(prepare_cluster, Backend::cutlass)), 1U);
}

TEST_F(CudaTest, SplitsOfOthersResetTheOutput) {
  EXPECT_EQ(stages_of_splits(dispatcher()), 2U);
}

TEST_F(CudaTest, AThreadWithoutAContextCanRunAPlanOfAnother) {
  const Dispatcher own = dispatcher();
  const Plan made = plan(own, Device::current());
  Status status;
  std::thread([&] { status = own.run(made, args(), nullptr, nullptr); }).join();
  EXPECT_TRUE(status.ok()) << status.message;
}

TEST_F(CudaTest, AThreadWithoutAContextUnloadsWhatAnotherLoaded) {
  auto own = std::make_unique<Dispatcher>(dispatcher());
  ASSERT_TRUE(own->run(plan(*own, Device::current()), args(), nullptr, nullptr).ok());
  const int before = counts().unloads;
  std::thread([&] { own.reset(); }).join();
  EXPECT_EQ(counts().unloads, before + 1);
}

TEST_F(CudaTest, ClustersThatTheArchLacksOrThatDoNotFillTheGridAreRefused) {
  const Dispatcher own =
      dispatcher([](const Launch& launch, Arch arch, std::uint32_t cu_num, KernelCall& out) noexcept {
        const Status status = prepare_cluster(launch, arch, cu_num, out);
        out.grid[0] = 7;
        return status;
      });
  const int before = counts().launches;
  const Status status = own.run(plan(own, Device::current()), args(), nullptr, nullptr);
  EXPECT_EQ(status.code, StatusCode::unsupported);
  EXPECT_NE(std::string(status.message).find("clusters of 2 x 1 x 1 workgroups"), std::string::npos) << status.message;
  EXPECT_EQ(counts().launches, before);
}

TEST_F(CudaTest, RunsAreTimedByTheDevicesOwnEvents) {
  const Dispatcher own = dispatcher();
  const Plan made = plan(own, Device::current());
  const auto timed = own.bench(made, args(), {2, 5});
  ASSERT_TRUE(timed) << timed.status().message;
  EXPECT_EQ(timed->median_us, 1000);
  EXPECT_EQ(counts().events, 0);
}

TEST_F(CudaTest, ErrorsNameTheCall) {
  const Dispatcher own = dispatcher();
  const Plan made = plan(own, Device::current());
  for (const char* const call : {"cuModuleLoadData", "cuModuleGetFunction", "cuFuncSetAttribute", "cuLaunchKernelEx"}) {
    fail(call, 719);
    const Status status = own.run(made, args(), nullptr, nullptr);
    EXPECT_EQ(std::string(status.message).find(std::string(call) + " answered with CUDA error 719"), 0U)
        << status.message;
  }
  fail("", 0);
  EXPECT_TRUE(own.run(made, args(), nullptr, nullptr).ok()) << "nothing is left of what failed";
}

TEST_F(CudaTest, StreamsThatAreGoneAreNamed) {
  const Dispatcher own = dispatcher();
  const Plan made = plan(own, Device::current());
  int any = 0;
  for (const int error : {201, 400, 709}) {
    fail("cuLaunchKernelEx", error);
    const Status given = own.run(made, args(), nullptr, &any);
    EXPECT_EQ(given.code, StatusCode::invalid_argument);
    EXPECT_NE(std::string(given.message).find("was destroyed, or is another device's"), std::string::npos)
        << given.message;
    EXPECT_EQ(own.run(made, args(), nullptr, nullptr).code, StatusCode::internal) << "the default stream is alive";
  }
}

TEST_F(CudaTest, WorkspaceIsOfAStreamAndNotOfItsAddress) {
  const Device device = Device::current();
  detail::WorkspacePool pool;
  const auto memory = [&](void* stream, std::uint64_t bytes = 256) {
    detail::WorkspacePool::Lease lease;
    const Status status = pool.acquire(device, stream, bytes, lease);
    EXPECT_TRUE(status.ok()) << status.message;
    return lease.memory();
  };
  int one = 0, other = 0;
  void* const own = reinterpret_cast<void*>(2);  // of each thread
  void* const first = memory(&one);
  EXPECT_EQ(memory(&one), first);
  EXPECT_NE(memory(&other), first);
  void* const legacy = memory(nullptr);
  const int before = counts().frees;
  renew_streams();
  EXPECT_NE(memory(&one), nullptr);
  EXPECT_EQ(counts().frees, before + 1) << "what a stream left that is gone is freed, which waits for the device";
  EXPECT_EQ(memory(nullptr), legacy) << "the default stream is never another";
  void* const mine = memory(own);
  void* theirs = nullptr;
  std::thread([&] { theirs = memory(own); }).join();
  EXPECT_NE(theirs, mine);
  EXPECT_EQ(memory(own), mine);
  EXPECT_EQ(counts().frees, before + 1);
  renew_streams();
  const detail::GpuRuntime& runtime = *detail::runtime_of(device);
  ASSERT_TRUE(runtime.begin_capture(&one).ok());
  EXPECT_NE(memory(&one), nullptr);
  EXPECT_EQ(counts().frees, before + 1) << "a stream that is captured is not asked, and frees nothing";
  void* graph = nullptr;
  ASSERT_TRUE(runtime.end_capture(&one, &graph).ok());
  EXPECT_TRUE(runtime.release_graph(graph).ok());
  fail("cuStreamGetId", 400);
  detail::WorkspacePool::Lease lease;
  EXPECT_EQ(pool.acquire(device, &one, 1, lease).code, StatusCode::invalid_argument);
}

TEST_F(CudaTest, DescriptorsAreTheDrivers) {
  alignas(64) unsigned char map[128] = {};
  const int before = counts().maps;
  EXPECT_EQ(ckgen_encode_tensor_map(map, 9, 3, c.data(), nullptr, nullptr, nullptr, nullptr, 0, 0, 0, 0), 0);
  EXPECT_EQ(counts().maps, before + 1);
  EXPECT_EQ(map[8], 9);
  fail("cuTensorMapEncodeTiled", 1);
  EXPECT_EQ(ckgen_encode_tensor_map(map, 9, 3, c.data(), nullptr, nullptr, nullptr, nullptr, 0, 0, 0, 0), 1);
}

/// Runs in a process of its own, in which no runtime is open yet.
class CudaDeathTest : public CudaTest {
 protected:
  CudaDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(CudaDeathTest, WithoutADeviceTheHostIsCurrent) {
  EXPECT_EXIT(
      {
        fail("cuInit", 100);
        std::_Exit(Device::current().kind() == DeviceKind::host ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST_F(CudaDeathTest, WhereBothVendorsAreAmdsDeviceIsCurrent) {
  EXPECT_EXIT(
      {
        setenv("CKGEN_HIP_LIBRARY", CKGEN_MOCK_HIP, 1);
        std::_Exit(Device::current().arch() == Arch::gfx942 ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace test_cuda
