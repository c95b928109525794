// Devices: simulated ones, the host, and the mock HIP runtime's.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "tiny_library.hpp"

namespace test_device {

using namespace ckgen;

TEST(DeviceTest, ASimulatedDeviceHasItsCountOrTheDefaultOne) {
  EXPECT_EQ(Device::simulated("gfx942").cu_num(), 304U);
  EXPECT_EQ(Device::simulated("gfx942:80").cu_num(), 80U);
  EXPECT_EQ(Device::simulated("gfx942", 38).cu_num(), 38U);
  EXPECT_EQ(Device::simulated("gfx950").arch(), Arch::gfx950);
}

TEST(DeviceTest, ASimulatedDeviceMayBeOfAProductThatHasItsCount) {
  const Device device = Device::simulated("sm_90a:132:h200");
  EXPECT_EQ(device.cu_num(), 132U);
  EXPECT_STREQ(device.sku(), "h200");
  EXPECT_STREQ(device.gfx(), "sm_90a");
  EXPECT_STREQ(Device::simulated("gfx942:38:mi325x").sku(), "mi325x") << "a partition of one";
  EXPECT_STREQ(Device::simulated("sm_90a:132").sku(), "");
  EXPECT_STREQ(Device::simulated("x86_64_amx:7:emeraldrapids").sku(), "emeraldrapids") << "any number of cores";
  EXPECT_EQ(sizeof(Device), 284U) << "no part of the ABI has grown";
}

TEST(DeviceTest, AnUnknownTargetSaysSo) {
  for (const char* target : {"gfx9999", "gfx942:", "gfx942:x", "gfx942:0", "", "sm_90a:132:", "sm_90a:132:h300",
                             "sm_90a:114:h200", "sm_90a::h200", "sm_90a:132:h200:h200", "x86_64_v3:4:zen"}) {
    const Device device = Device::simulated(target);
    EXPECT_FALSE(device) << target;
    EXPECT_NE(std::string(device.status().message).find(target), std::string::npos);
  }
}

TEST(DeviceTest, TheHostIsAnX86Level) {
  const Device host = Device::host();
  ASSERT_TRUE(host);
  EXPECT_EQ(host.kind(), DeviceKind::host);
  EXPECT_EQ(std::string(host.gfx()).substr(0, 7), "x86_64_");
  EXPECT_GE(host.cu_num(), 1U);
  EXPECT_NE(host.brand()[0], '\0');
}

class MockHip : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv("CKGEN_HIP_LIBRARY", CKGEN_MOCK_HIP, 1);
    void* library = dlopen(CKGEN_MOCK_HIP, RTLD_NOW);
    ASSERT_NE(library, nullptr) << dlerror();
    set_device = reinterpret_cast<int (*)(int)>(dlsym(library, "hipSetDevice"));
    queries = reinterpret_cast<int (*)()>(dlsym(library, "mock_hip_property_queries"));
    ASSERT_TRUE(set_device != nullptr && queries != nullptr);
  }

  inline static int (*set_device)(int) = nullptr;
  inline static int (*queries)() = nullptr;
};

TEST_F(MockHip, TheCurrentDeviceIsTheThreadsOwn) {
  struct Expected {
    Arch arch;
    std::uint32_t cu_num;
  };
  constexpr Expected expected[] = {{Arch::gfx942, 304}, {Arch::gfx942, 80}, {Arch::gfx950, 256}, {Arch::gfx1100, 48}};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const int id = (t + i) % 4;
        ASSERT_EQ(set_device(id), 0);
        const Device device = Device::current();
        ASSERT_EQ(device.kind(), DeviceKind::gpu);
        ASSERT_EQ(device.id(), id);
        ASSERT_EQ(device.arch(), expected[id].arch);
        ASSERT_EQ(device.cu_num(), expected[id].cu_num);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(queries(), 7);
}

TEST_F(MockHip, TheEnvironmentNeverSpeaksForTheDevice) {
  setenv("GPU_ARCHS", "gfx942;gfx950", 1);
  setenv("CU_NUM", "304", 1);
  ASSERT_EQ(set_device(1), 0);
  const Device device = Device::current();
  EXPECT_STREQ(device.gfx(), "gfx942");
  EXPECT_EQ(device.cu_num(), 80U);
  const Dispatcher dispatcher{tiny::registry(), DispatcherOptions{}};
  EXPECT_EQ(dispatcher.select(tiny::problem(16, 512, 8192), device).tier, Tier::exact);
  unsetenv("GPU_ARCHS");
  unsetenv("CU_NUM");
}

TEST_F(MockHip, AnArchThatNobodyKnowsIsRefused) {
  ASSERT_EQ(set_device(4), 0);
  const Device device = Device::current();
  EXPECT_FALSE(device);
  EXPECT_STREQ(device.gfx(), "gfx9999");
  const Dispatcher dispatcher{tiny::registry(), DispatcherOptions{}};
  EXPECT_FALSE(dispatcher.select(tiny::problem(16, 512, 8192), device));
  const auto plan = dispatcher.plan(tiny::problem(16, 512, 8192), device);
  EXPECT_EQ(plan.status().code, StatusCode::no_device);
  EXPECT_NE(std::string(plan.status().message).find("gfx9999"), std::string::npos);
  ASSERT_EQ(set_device(0), 0);
}

TEST_F(MockHip, AGpuWithoutADeviceLauncherIsRefusedBeforeAnyLaunch) {
  ASSERT_EQ(set_device(0), 0);
  const Dispatcher dispatcher{tiny::registry(), DispatcherOptions{}};
  const auto plan = dispatcher.plan(tiny::problem(128, 1024, 2048), Device::current());
  ASSERT_TRUE(plan);
  EXPECT_FALSE(plan->launchable.ok());
  const Status status = dispatcher.run(*plan, GemmArgs{}, nullptr, nullptr);
  EXPECT_EQ(status.code, StatusCode::unsupported);
  EXPECT_STREQ(status.message, "tiny_medium has no device launcher: it cannot run on gfx942");
}

}  // namespace test_device
