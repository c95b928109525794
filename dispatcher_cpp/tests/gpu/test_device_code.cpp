// GPU code on the mock HIP runtime: what is loaded and launched, when, and what is refused before that.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "counted_new.hpp"
#include "mock_hip_test.hpp"
#include "tiny_device.hpp"
#include "tiny_library.hpp"

namespace test_device_code {

using namespace ckgen;
using tiny::Code;

constexpr std::uint64_t kMediumId = 2;

std::uint64_t fnv1a(const std::string& text) {
  std::uint64_t digest = 0xcbf29ce484222325;
  for (const char c : text) digest = (digest ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return digest;
}

class DeviceCodeTest : public MockHipTest {
 protected:
  static constexpr std::int64_t m = 128, n = 1024, k = 2048, ldc = 1032;

  DeviceCodeTest() { code.add(kMediumId, {Arch::gfx942, Arch::gfx950}); }

  /// A dispatcher that always takes tiny_medium, of a registry with `code`.
  Dispatcher dispatcher() const {
    Registry registry = tiny::registry();
    const Status status = registry.attach(code.library());
    EXPECT_TRUE(status.ok()) << status.message;
    return Dispatcher(registry, DispatcherOptions{false, "tiny_medium", "", ""});
  }
  /// tiny_medium's plan on `on` with one split or, `splits` being asked for, two.
  static Plan plan(const Dispatcher& of, const Device& on, bool splits = false) {
    const Problem problem = tiny::problem(m, n, k);
    Selection selection = of.select(problem, on);
    selection.k_batch = splits ? 2 : 1;
    const auto made = of.plan(problem, on, selection);
    EXPECT_TRUE(made) << made.status().message;
    EXPECT_TRUE(made->launchable.ok()) << made->launchable.message;
    return *made;
  }
  GemmArgs args() {
    GemmArgs args{};
    args.a = operands.data();
    args.b = operands.data() + 16;
    args.c = c.data();
    args.m = m;
    args.n = n;
    args.k = k;
    args.batch = 1;
    args.lda = args.ldb = k;
    args.ldc = ldc;
    return args;
  }

  Code code;
  std::vector<std::uint16_t> operands = std::vector<std::uint16_t>(64);
  std::vector<std::uint16_t> c = std::vector<std::uint16_t>(m * ldc, 0xffff);
};

TEST_F(DeviceCodeTest, TheCallArrivesAsItWasPrepared) {
  const Dispatcher own = dispatcher();
  int stream = 0;
  const Status status = own.run(plan(own, device(0)), args(), nullptr, &stream);
  ASSERT_TRUE(status.ok()) << status.message;
  const MockLaunch launch = mock.last_launch();
  EXPECT_STREQ(launch.symbol, "tiny_set");
  EXPECT_EQ(launch.grid[0], 8U);
  EXPECT_EQ(launch.grid[1], 1U);
  EXPECT_EQ(launch.grid[2], 1U);
  EXPECT_EQ(launch.block[0], 256U);
  EXPECT_EQ(launch.block[1], 1U);
  EXPECT_EQ(launch.shared, 16U);
  EXPECT_EQ(launch.stream, &stream);
  ASSERT_EQ(launch.args_size, sizeof(tiny::KernelArgs));
  tiny::KernelArgs arrived;
  std::memcpy(&arrived, launch.args, sizeof arrived);
  EXPECT_EQ(arrived.a, operands.data());
  EXPECT_EQ(arrived.c, c.data());
  EXPECT_EQ(arrived.n, n);
  EXPECT_EQ(arrived.ldc, ldc);
  EXPECT_EQ(arrived.k_batch, 1U);
  EXPECT_EQ(arrived.cu_num, 304U);
  EXPECT_EQ(arrived.arch, static_cast<std::uint32_t>(Arch::gfx942));
  EXPECT_EQ(mock.last_digest(), fnv1a(tiny::image(Arch::gfx942, {"tiny_set", "tiny_add"})));
}

TEST_F(DeviceCodeTest, EachDeviceLoadsItsOwnArchsObjectOnce) {
  const Dispatcher own = dispatcher();
  const MockCounts before = mock.counts();
  for (int round = 0; round < 3; ++round) {
    for (const int id : {0, 1, 2}) {
      const Plan made = plan(own, device(id));
      ASSERT_TRUE(own.run(made, args(), nullptr, nullptr).ok());
      EXPECT_EQ(mock.last_launch().device, id);
      if (round == 0) {
        const Arch arch = id == 2 ? Arch::gfx950 : Arch::gfx942;
        EXPECT_EQ(mock.last_digest(), fnv1a(tiny::image(arch, {"tiny_set", "tiny_add"})));
      }
    }
  }
  EXPECT_EQ(mock.counts().loads - before.loads, 3);
  EXPECT_EQ(mock.counts().functions - before.functions, 3);
  EXPECT_EQ(mock.counts().launches - before.launches, 9);
}

TEST_F(DeviceCodeTest, RunsAreTimedByTheDevicesOwnEvents) {
  const Dispatcher own = dispatcher();
  const Plan set = plan(own, device(0));
  const Plan add = plan(own, device(0), true);  // C is cleared before its kernel
  const MockCounts before = mock.counts();
  const auto timed = own.bench(set, args(), {2, 5});
  ASSERT_TRUE(timed) << timed.status().message;
  EXPECT_EQ(timed->median_us, 1000);
  EXPECT_EQ(timed->max_us, 1000);
  EXPECT_EQ(timed->runs, 5);
  EXPECT_EQ(mock.counts().launches - before.launches, 7);
  EXPECT_EQ(own.bench(add, args(), {0, 1})->median_us, 2000);
  for (const char* const call : {"hipEventCreate", "hipEventRecord", "hipEventElapsedTime"}) {
    mock.fail(call, 700);
    const auto failed = own.bench(set, args(), {0, 1});
    EXPECT_EQ(std::string(failed.status().message), std::string(call) + " answered with HIP error 700");
    mock.fail("", 0);
  }
  EXPECT_EQ(mock.counts().events, before.events);
}

TEST_F(DeviceCodeTest, ManyThreadsLoadOnce) {
  const Dispatcher own = dispatcher();
  const Plan set = plan(own, device(0));
  const Plan add = plan(own, device(0), true);
  const MockCounts before = mock.counts();
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      ASSERT_EQ(mock.set_device(0), 0);
      std::vector<std::uint16_t> output(m * ldc);
      GemmArgs mine = args();
      mine.c = output.data();
      for (int i = 0; i < 100; ++i) ASSERT_TRUE(own.run((i + t) % 2 == 0 ? set : add, mine, nullptr, nullptr).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(mock.counts().loads - before.loads, 1);
  EXPECT_EQ(mock.counts().functions - before.functions, 2);
  EXPECT_EQ(mock.counts().launches - before.launches, 800);
}

TEST_F(DeviceCodeTest, KernelsThatAddFindZerosInCAndOnlyThere) {
  const Dispatcher own = dispatcher();
  int stream = 0;
  ASSERT_TRUE(own.run(plan(own, device(0), true), args(), nullptr, &stream).ok());
  EXPECT_STREQ(mock.last_launch().symbol, "tiny_add");
  EXPECT_EQ(mock.last_launch().grid[2], 2U);
  const MockClear clear = mock.last_clear();
  EXPECT_EQ(clear.stream, &stream);
  EXPECT_EQ(clear.pitch, ldc * sizeof(std::uint16_t));
  EXPECT_LT(clear.sequence, mock.last_launch().sequence);
  for (std::int64_t row = 0; row < m; ++row) {
    for (std::int64_t column = 0; column < ldc; ++column)
      ASSERT_EQ(c[static_cast<std::size_t>(row * ldc + column)], column < n ? 0 : 0xffff) << row << ' ' << column;
  }
  GemmArgs dense = args();
  dense.ldc = n;
  ASSERT_TRUE(own.run(plan(own, device(0), true), dense, nullptr, nullptr).ok());
  EXPECT_EQ(mock.last_clear().pitch, 0U) << "one block of memory is cleared at once";
  EXPECT_EQ(mock.last_clear().width, m * n * sizeof(std::uint16_t));
}

TEST_F(DeviceCodeTest, LaunchingAgainNeitherAllocatesNorLoads) {
  const Dispatcher own = dispatcher();
  const Plan set = plan(own, device(0));
  const Plan add = plan(own, device(0), true);
  const GemmArgs mine = args();
  ASSERT_TRUE(own.run(set, mine, nullptr, nullptr).ok());
  ASSERT_TRUE(own.run(add, mine, nullptr, nullptr).ok());
  const MockCounts counts = mock.counts();
  const long before = allocations();
  bool good = true;
  for (int i = 0; i < 100; ++i) good = good && own.run(i % 2 == 0 ? set : add, mine, nullptr, nullptr).ok();
  EXPECT_EQ(allocations(), before);
  EXPECT_TRUE(good);
  EXPECT_EQ(mock.counts().loads, counts.loads);
  EXPECT_EQ(mock.counts().functions, counts.functions);
  EXPECT_EQ(mock.counts().launches, counts.launches + 100);
}

TEST_F(DeviceCodeTest, PreloadingLeavesOnlyTheLaunch) {
  const Dispatcher own = dispatcher();
  const Plan made = plan(own, device(0));
  const MockCounts before = mock.counts();
  ASSERT_TRUE(own.preload(made).ok());
  ASSERT_TRUE(own.preload(made).ok());
  EXPECT_EQ(mock.counts().loads - before.loads, 1);
  EXPECT_EQ(mock.counts().launches, before.launches);
  ASSERT_TRUE(own.run(made, args(), nullptr, nullptr).ok());
  EXPECT_EQ(mock.counts().loads - before.loads, 1);
  ASSERT_EQ(mock.set_device(1), 0);
  EXPECT_STREQ(own.preload(made).message, "the plan is for HIP device 0, the current one is 1");
  EXPECT_FALSE(own.preload(Plan{}).ok());
  const auto simulated = own.plan(tiny::problem(m, n, k), Device::simulated("gfx942"));
  EXPECT_TRUE(own.preload(*simulated).ok()) << "there is nothing to load";
}

TEST_F(DeviceCodeTest, RegistriesShareModulesAndTheLastUnloads) {
  const MockCounts before = mock.counts();
  {
    const Dispatcher first = dispatcher();
    ASSERT_TRUE(first.run(plan(first, device(0)), args(), nullptr, nullptr).ok());
    {
      const Dispatcher second = dispatcher();
      ASSERT_TRUE(second.run(plan(second, device(0)), args(), nullptr, nullptr).ok());
    }
    EXPECT_EQ(mock.counts().loads - before.loads, 1);
    EXPECT_EQ(mock.counts().unloads, before.unloads);
  }
  EXPECT_EQ(mock.counts().unloads - before.unloads, 1);
  const Dispatcher again = dispatcher();
  ASSERT_TRUE(again.run(plan(again, device(0)), args(), nullptr, nullptr).ok());
  EXPECT_EQ(mock.counts().loads - before.loads, 2);
}

TEST_F(DeviceCodeTest, WhatTheOperationRefusesIsNotLoaded) {
  const Dispatcher own = dispatcher();
  const MockCounts before = mock.counts();
  GemmArgs odd = args();
  odd.lda = k + 1;
  EXPECT_STREQ(own.run(plan(own, device(0)), odd, nullptr, nullptr).message, "lda % 8 != 0");
  EXPECT_EQ(mock.counts().sequence, before.sequence);
}

/// The message of a run whose call is what `Change` makes of tiny's; nothing may be launched or cleared.
template <class Change>
std::string refused_call(Change) {
  static_assert(std::is_empty_v<Change>, "no captures: it is made anew inside");
  Code code;
  code.add(kMediumId, {Arch::gfx942}, [](const Launch& launch, Arch arch, std::uint32_t cu, KernelCall& out) noexcept {
    const Status status = tiny::prepare(launch, arch, cu, out);
    Change()(out);
    return status;
  });
  Registry registry = tiny::registry();
  EXPECT_TRUE(registry.attach(code.library()).ok());
  const Dispatcher own(registry, DispatcherOptions{false, "tiny_medium", "", ""});
  const Device on = Device::current();
  const Problem problem = tiny::problem(128, 1024, 2048);
  Selection two_splits = own.select(problem, on);
  two_splits.k_batch = 2;
  const auto made = own.plan(problem, on, two_splits);
  std::vector<std::uint16_t> memory(128 * 1024, 0xffff);
  GemmArgs args{};
  args.a = args.b = memory.data();
  args.c = memory.data();
  args.m = 128;
  args.n = args.ldc = 1024;
  args.k = args.lda = args.ldb = 2048;
  args.batch = 1;
  const MockCounts before = MockHip::instance().counts();
  const Status status = own.run(*made, args, nullptr, nullptr);
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(MockHip::instance().counts().launches, before.launches);
  EXPECT_EQ(MockHip::instance().counts().clears, before.clears);
  EXPECT_EQ(memory[0], 0xffff);
  return status.message;
}

TEST_F(DeviceCodeTest, ACallBeyondTheLimitsIsRefused) {
  device(0);
  EXPECT_EQ(refused_call([](KernelCall& call) { call.grid[1] = 0; }),
            "grid 8 x 0 x 2 of 256 x 1 x 1 cannot be launched (tiny_add on gfx942)");
  EXPECT_EQ(refused_call([](KernelCall& call) { call.grid[0] = 1U << 24; }),
            "grid 16777216 x 1 x 2 of 256 x 1 x 1 cannot be launched (tiny_add on gfx942)");
  EXPECT_EQ(refused_call([](KernelCall& call) { call.block[1] = 5; }),
            "a workgroup of 1280 work-items, at most 1024 (tiny_add on gfx942)");
  EXPECT_EQ(refused_call([](KernelCall& call) { call.dynamic_lds = 65537; }),
            "65537 bytes of LDS, at most 65536 (tiny_add on gfx942)");
  EXPECT_EQ(refused_call([](KernelCall& call) { call.args_size = kMaxKernelArgs + 1; }),
            "4097 bytes of arguments, at most 4096 (tiny_add on gfx942)");
  EXPECT_EQ(refused_call([](KernelCall& call) { call.cluster[0] = 2; }),
            "clusters of 2 x 1 x 1 workgroups, of which whole ones of at most 1 make up a grid (tiny_add on gfx942)");
  EXPECT_EQ(refused_call([](KernelCall& call) { call.clear.pitch = 1; }),
            "the memory to be zeroed is null or its rows overlap (tiny_add on gfx942)");
  EXPECT_EQ(refused_call([](KernelCall& call) { call.symbol = nullptr; }),
            "no kernel was chosen (tiny_medium on gfx942)");
}

TEST_F(DeviceCodeTest, AKernelThatTheObjectLacksIsNamed) {
  device(0);
  EXPECT_EQ(refused_call([](KernelCall& call) { call.symbol = "tiny_gone"; }),
            "hipModuleGetFunction answered with HIP error 500 (tiny_gone on gfx942)");
}

/// tiny's kernels, each in an object of its own where `kOwn`.
template <bool kOwn>
Status prepare_apart(const Launch& launch, Arch arch, std::uint32_t cu_num, KernelCall& out) noexcept {
  const Status status = tiny::prepare(launch, arch, cu_num, out);
  if (kOwn && launch.k_batch > 1) out.object = 1;
  return status;
}

TEST_F(DeviceCodeTest, KernelsAreFoundInTheObjectOfTheArchThatTheCallNames) {
  const MockCounts before = mock.counts();
  {
    Code two;
    two.add(kMediumId, {Arch::gfx950, Arch::gfx942}, prepare_apart<true>, {"tiny_set"});
    two.beside(Arch::gfx942, {"tiny_add"}).beside(Arch::gfx950, {"tiny_add"});
    Registry registry = tiny::registry();
    ASSERT_TRUE(registry.attach(two.library()).ok());
    EXPECT_EQ(registry.device_archs(1), tiny::bit(Arch::gfx942) | tiny::bit(Arch::gfx950));
    const Dispatcher own(registry, DispatcherOptions{false, "tiny_medium", "", ""});
    for (const int id : {0, 2}) {
      const Plan set = plan(own, device(id)), add = plan(own, device(id), true);
      ASSERT_TRUE(own.preload(set).ok());
      EXPECT_EQ(mock.counts().loads - before.loads, id == 0 ? 2 : 4) << "both are loaded together";
      ASSERT_TRUE(own.run(add, args(), nullptr, nullptr).ok());
      EXPECT_STREQ(mock.last_launch().symbol, "tiny_add");
      ASSERT_TRUE(own.run(set, args(), nullptr, nullptr).ok());
      EXPECT_STREQ(mock.last_launch().symbol, "tiny_set");
    }
  }
  EXPECT_EQ(mock.counts().loads - before.loads, 4);
  EXPECT_EQ(mock.counts().unloads - before.unloads, 4);
}

TEST_F(DeviceCodeTest, AKernelOfAnotherObjectIsNotLookedForInTheFirst) {
  Code two;
  two.add(kMediumId, {Arch::gfx942}, prepare_apart<false>, {"tiny_set"}).beside(Arch::gfx942, {"tiny_add"});
  Registry registry = tiny::registry();
  ASSERT_TRUE(registry.attach(two.library()).ok());
  const Dispatcher own(registry, DispatcherOptions{false, "tiny_medium", "", ""});
  EXPECT_STREQ(own.run(plan(own, device(0), true), args(), nullptr, nullptr).message,
               "hipModuleGetFunction answered with HIP error 500 (tiny_add on gfx942)");
  const auto elsewhere = own.plan(tiny::problem(m, n, k), device(2));
  ASSERT_TRUE(elsewhere) << elsewhere.status().message;
  EXPECT_STREQ(elsewhere->launchable.message,
               "no GPU code for gfx950, only for gfx942: tiny_medium cannot run on gfx950");
  device(0);
  EXPECT_EQ(refused_call([](KernelCall& call) { call.object = 1; }),
            "there is no code object 1 of its arch (tiny_add on gfx942)");
  EXPECT_EQ(refused_call([](KernelCall& call) { call.object = kMaxCodeObjects; }),
            "there is no code object 2 of its arch (tiny_add on gfx942)");
}

TEST_F(DeviceCodeTest, NothingStaysLoadedWhereASecondObjectIsDamaged) {
  const MockCounts before = mock.counts();
  Code two;
  two.add(kMediumId, {Arch::gfx942}, prepare_apart<true>, {"tiny_set"}).beside(Arch::gfx942, {"tiny_add"});
  std::vector<unsigned char>& bytes = two.bytes(1);
  bytes[bytes.size() / 2] ^= 0x40;
  Registry registry = tiny::registry();
  ASSERT_TRUE(registry.attach(two.library()).ok());
  const Dispatcher own(registry, DispatcherOptions{false, "tiny_medium", "", ""});
  EXPECT_NE(std::string(own.run(plan(own, device(0)), args(), nullptr, nullptr).message).find("damaged"),
            std::string::npos);
  EXPECT_EQ(mock.counts().loads - before.loads, 1);
  EXPECT_EQ(mock.counts().unloads - before.unloads, 1);
}

TEST_F(DeviceCodeTest, DamagedBytesNeverReachHip) {
  const MockCounts before = mock.counts();
  const auto run = [&] {
    const Dispatcher own = dispatcher();
    return std::string(own.run(plan(own, device(0)), args(), nullptr, nullptr).message);
  };
  std::vector<unsigned char>& bytes = code.bytes(0);
  bytes[bytes.size() / 2] ^= 0x40;
  EXPECT_EQ(run(), "the GPU code is damaged: data error (tiny_medium on gfx942)");
  bytes[bytes.size() / 2] ^= 0x40;
  code.object(0).size -= 1;
  EXPECT_EQ(run().substr(0, 24), "the GPU code is damaged:");
  code.object(0).size += 1;
  code.object(0).unpacked_size += 1;
  EXPECT_EQ(run(), "the GPU code is damaged: its size is another one (tiny_medium on gfx942)");
  code.object(0).unpacked_size -= 2;
  EXPECT_EQ(run().substr(0, 24), "the GPU code is damaged:");
  code.object(0).unpacked_size += 1;
  const std::string plain = tiny::image(Arch::gfx942, {"tiny_set", "tiny_add"});
  std::vector<unsigned char> stored = tiny::compressed(plain, 0);
  code.object(0) = {Arch::gfx942, stored.data(), stored.size(), plain.size()};
  const std::size_t at = std::string(stored.begin(), stored.end()).find("tiny_set");
  ASSERT_NE(at, std::string::npos);
  const int changes[] = {1, -1, -1, 1};  // neither their sum nor that of their places differs: Adler-32 is as it was
  for (std::size_t i = 0; i < 4; ++i) stored[at + i] = static_cast<unsigned char>(stored[at + i] + changes[i]);
  EXPECT_EQ(run(), "the GPU code is damaged: data error (tiny_medium on gfx942)");
  const std::vector<unsigned char> text = tiny::compressed(std::string(500, 'x'));
  code.object(0) = {Arch::gfx942, text.data(), text.size(), 500};
  EXPECT_EQ(run(), "the GPU code is no ELF file of a GPU of its vendor (tiny_medium on gfx942)");
  EXPECT_EQ(mock.counts().sequence, before.sequence);
}

TEST_F(DeviceCodeTest, WhatHipAnswersIsSaidWithCallKernelAndArch) {
  const Dispatcher own = dispatcher();
  const Plan made = plan(own, device(2), true);
  const auto failing = [&](const char* call) {
    mock.fail(call, 719);
    const Status status = own.run(made, args(), nullptr, nullptr);
    mock.fail("", 0);
    EXPECT_EQ(status.code, StatusCode::internal);
    return std::string(status.message);
  };
  EXPECT_EQ(failing("hipModuleLoadData"), "hipModuleLoadData answered with HIP error 719 (tiny_medium on gfx950)");
  EXPECT_EQ(failing("hipModuleGetFunction"), "hipModuleGetFunction answered with HIP error 719 (tiny_add on gfx950)");
  EXPECT_EQ(failing("hipMemset2DAsync"), "hipMemset2DAsync answered with HIP error 719 (tiny_add on gfx950)");
  EXPECT_EQ(failing("hipModuleLaunchKernel"), "hipModuleLaunchKernel answered with HIP error 719 (tiny_add on gfx950)");
  EXPECT_TRUE(own.run(made, args(), nullptr, nullptr).ok()) << "a failure is not kept";
}

TEST_F(DeviceCodeTest, StreamsThatAreGoneAreNamed) {
  const Dispatcher own = dispatcher();
  const Plan made = plan(own, device(2), true);
  int any = 0;
  for (const char* const call : {"hipMemset2DAsync", "hipModuleLaunchKernel"}) {
    for (const int error : {201, 400, 709}) {
      mock.fail(call, error);
      const Status given = own.run(made, args(), nullptr, &any);
      EXPECT_EQ(given.code, StatusCode::invalid_argument);
      EXPECT_NE(std::string(given.message).find("was destroyed, or is another device's"), std::string::npos)
          << given.message;
      EXPECT_EQ(own.run(made, args(), nullptr, nullptr).code, StatusCode::internal) << "the default stream is alive";
    }
  }
}

}  // namespace test_device_code
