// GPU code in a registry: what is taken, what is refused, what plans then say.
#include <gtest/gtest.h>

#include <string>

#include <ckgen/c_api.h>

#include "mock_hip_test.hpp"
#include "tiny_device.hpp"
#include "tiny_library.hpp"

namespace test_attach {

using namespace ckgen;
using tiny::Code;

constexpr std::uint64_t kSmallId = 1;
constexpr std::uint64_t kMediumId = 2;
constexpr std::uint64_t kFnuzId = 4;

Dispatcher forced(const Registry& registry, const char* name) {
  return Dispatcher(registry, DispatcherOptions{false, name, "", ""});
}

TEST(Attach, GivesInstancesTheirArchs) {
  Registry registry = tiny::registry();
  Code code;
  code.add(kMediumId, {Arch::gfx942, Arch::gfx950}).add(kFnuzId, {Arch::gfx942});
  const Status status = registry.attach(code.library());
  ASSERT_TRUE(status.ok()) << status.message;
  EXPECT_EQ(registry.device_archs(0), 0U);
  EXPECT_EQ(registry.device_archs(1), tiny::bit(Arch::gfx942) | tiny::bit(Arch::gfx950));
  EXPECT_EQ(registry.device_archs(3), tiny::bit(Arch::gfx942));
}

TEST(Attach, IsNotSeenByEarlierSnapshots) {
  Registry registry = tiny::registry();
  const Registry copy = registry;
  const Dispatcher earlier{registry, DispatcherOptions{}};
  Code code;
  ASSERT_TRUE(registry.attach(code.add(kMediumId, {Arch::gfx942}).library()).ok());
  EXPECT_EQ(copy.device_archs(1), 0U);
  EXPECT_EQ(earlier.registry().device_archs(1), 0U);
  EXPECT_NE(registry.device_archs(1), 0U);
  InstanceDesc more = tiny::instances[0];
  more.name = "more";
  more.id = 99;
  ASSERT_TRUE(registry.add(more).ok());
  EXPECT_NE(registry.device_archs(1), 0U);
  EXPECT_EQ(registry.device_archs(5), 0U);
}

/// The refusal of a library with code for tiny_small and what `change` does to it; nothing may be attached by it.
template <class Change>
std::string refusal(Change change, Registry registry = tiny::registry()) {
  Code code;
  code.add(kSmallId, {Arch::gfx942, Arch::gfx950});
  DeviceLibrary library = code.library();
  change(code, library);
  const Status status = registry.attach(library);
  EXPECT_FALSE(status.ok());
  for (std::uint32_t i = 0; i < registry.size(); ++i) EXPECT_EQ(registry.device_archs(i), 0U);
  return status.message;
}

TEST(Attach, RefusesConstantsThatCannotBeMeant) {
  EXPECT_EQ(refusal([](Code&, DeviceLibrary& library) { library.abi += 1; }),
            "device library tiny_gpu was generated for runtime ABI " + std::to_string(CKGEN_RUNTIME_ABI + 1) +
                ", this is " + std::to_string(CKGEN_RUNTIME_ABI) + ": generate and build it again");
  EXPECT_EQ(refusal([](Code&, DeviceLibrary& library) { library.name = nullptr; }), "the device library has no name");
  EXPECT_EQ(refusal([](Code&, DeviceLibrary& library) { library.codes = nullptr; }),
            "device library tiny_gpu has no codes");
  const auto flaw = [](auto change) {
    const std::string text = refusal([&](Code& code, DeviceLibrary&) { change(code); });
    const std::string prefix = "device library tiny_gpu, code of id 0000000000000001: ";
    return text.substr(0, prefix.size()) == prefix ? text.substr(prefix.size()) : text;
  };
  EXPECT_EQ(flaw([](Code& code) { code.code(0).prepare = nullptr; }), "it has no function that prepares a launch");
  EXPECT_EQ(flaw([](Code& code) { code.code(0).object_count = 0; }), "it has no code object");
  EXPECT_EQ(flaw([](Code& code) { code.object(1).size = 0; }), "a code object is empty");
  EXPECT_EQ(flaw([](Code& code) { code.object(1).bytes = nullptr; }), "a code object is empty");
  EXPECT_EQ(flaw([](Code& code) { code.beside(Arch::gfx950, {"k"}).beside(Arch::gfx950, {"k"}); }),
            "three code objects are for one arch");
  EXPECT_EQ(flaw([](Code& code) { code.object(1).arch = Arch::x86_64_v3; }), "a code object is for no known GPU arch");
  EXPECT_EQ(flaw([](Code& code) { code.object(1).arch = Arch::unknown; }), "a code object is for no known GPU arch");
  static constexpr const DeviceCode* kNothing[] = {nullptr};
  EXPECT_NE(refusal([](Code&, DeviceLibrary& library) { library.codes = kNothing; }).find("an entry is null"),
            std::string::npos);
}

TEST(Attach, RefusesWhatDoesNotFitTheInstances) {
  EXPECT_EQ(refusal([](Code& code, DeviceLibrary&) { code.code(0).id = 0xabc; }),
            "device library tiny_gpu: no registered instance has id 0000000000000abc; add the library of its instances "
            "first, generated from the same tables");
  EXPECT_EQ(refusal([](Code& code, DeviceLibrary&) { code.object(1).arch = Arch::gfx1100; }),
            "device library tiny_gpu: tiny_small does not run on gfx1100");
  // All or nothing: the first code is good.
  EXPECT_EQ(refusal([](Code& code, DeviceLibrary& library) {
              code.add(kSmallId, {Arch::gfx942});
              library = code.library();
            }),
            "device library tiny_gpu: tiny_small has GPU code already");
  Registry own;
  InstanceDesc launcher = tiny::instances[0];
  launcher.device = launch_gemm_twin;
  ASSERT_TRUE(own.add(launcher).ok());
  EXPECT_EQ(refusal([](Code&, DeviceLibrary&) {}, own),
            "device library tiny_gpu: tiny_small has a device launcher already");
}

TEST(Attach, RefusesASecondLibraryForAnInstance) {
  Registry registry = tiny::registry();
  Code first;
  Code second;
  ASSERT_TRUE(registry.attach(first.add(kSmallId, {Arch::gfx942}).library()).ok());
  const Status status = registry.attach(second.add(kMediumId, {Arch::gfx942}).add(kSmallId, {Arch::gfx950}).library());
  EXPECT_STREQ(status.message, "device library tiny_gpu: tiny_small has GPU code already");
  EXPECT_EQ(registry.device_archs(0), tiny::bit(Arch::gfx942));
  EXPECT_EQ(registry.device_archs(1), 0U);
}

class AttachPlan : public MockHipTest {};

TEST_F(AttachPlan, SaysForWhichArchsThereIsCode) {
  Registry registry = tiny::registry();
  Code code;
  ASSERT_TRUE(registry.attach(code.add(kMediumId, {Arch::gfx942}).library()).ok());
  const Dispatcher dispatcher = forced(registry, "tiny_medium");
  const Problem problem = tiny::problem(128, 1024, 2048);
  const int before = mock.counts().sequence;
  const auto good = dispatcher.plan(problem, device(1));
  ASSERT_TRUE(good) << good.status().message;
  EXPECT_TRUE(good->launchable.ok()) << good->launchable.message;
  const auto bad = dispatcher.plan(problem, device(2));
  ASSERT_TRUE(bad) << bad.status().message;
  EXPECT_EQ(bad->launchable.code, StatusCode::unsupported);
  EXPECT_STREQ(bad->launchable.message, "no GPU code for gfx950, only for gfx942: tiny_medium cannot run on gfx950");
  EXPECT_STREQ(dispatcher.run(*bad, GemmArgs{}, nullptr, nullptr).message, bad->launchable.message);
  EXPECT_STREQ(dispatcher.preload(*bad).message, bad->launchable.message);
  const auto none = forced(registry, "tiny_small").plan(problem, device(0));
  ASSERT_TRUE(none) << none.status().message;
  EXPECT_STREQ(none->launchable.message, "tiny_small has no device launcher: it cannot run on gfx942");
  EXPECT_EQ(mock.counts().sequence, before) << "planning and refusing are no GPU calls";
}

TEST_F(AttachPlan, TheGpuCodeSaysHowMuchWorkspaceItNeeds) {
  Registry registry = tiny::registry();
  Code code;
  code.add(kMediumId, {Arch::gfx942}).add(kSmallId, {Arch::gfx942});
  code.code(0).workspace = [](const InstanceDesc& instance, const Problem& problem, std::uint32_t k_batch, Arch arch,
                              std::uint32_t cu_num) noexcept {
    return static_cast<std::size_t>(instance.id * 1000 + static_cast<std::uint64_t>(problem.m()) + k_batch + cu_num) +
           (arch == Arch::gfx942 ? 0U : 1U);
  };
  ASSERT_TRUE(registry.attach(code.library()).ok());
  const Dispatcher dispatcher{registry, DispatcherOptions{}};
  const Problem problem = tiny::problem(128, 1024, 2048);  // tiny_medium with two splits
  EXPECT_EQ(dispatcher.plan(problem, device(0))->workspace_size, 2000U + 128 + 2 + 304);
  const auto twin = dispatcher.plan(problem, Device::simulated("gfx942"));
  EXPECT_EQ(twin->workspace_size, gemm_twin_workspace_of(tiny::instances[1], twin->problem, 2, 0));
  EXPECT_NE(twin->workspace_size, 0U);
  EXPECT_EQ(forced(registry, "tiny_small").plan(problem, device(0))->workspace_size, 0U);
}

TEST_F(AttachPlan, ASimulatedDeviceStillRunsTheTwin) {
  Registry registry = tiny::registry();
  Code code;
  ASSERT_TRUE(registry.attach(code.add(kMediumId, {Arch::gfx950}).library()).ok());
  const auto plan =
      Dispatcher(registry, DispatcherOptions{}).plan(tiny::problem(128, 1024, 2048), Device::simulated("gfx942"));
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->launchable.ok());
  EXPECT_EQ(plan->stages[0].launch, launch_gemm_twin);
  EXPECT_EQ(plan->stages[0].program, nullptr);
}

TEST(Attach, IsThereInC) {
  Code code;
  code.add(kMediumId, {Arch::gfx950, Arch::gfx942});
  const DeviceLibrary library = code.library();
  char text[512];
  const ckgen_message message{text, sizeof text};
  ckgen_registry* registry = nullptr;
  ckgen_dispatcher* dispatcher = nullptr;
  ASSERT_EQ(ckgen_registry_create(&registry, message), CKGEN_OK);
  EXPECT_EQ(ckgen_registry_attach(registry, nullptr, message), CKGEN_INVALID_ARGUMENT);
  EXPECT_EQ(ckgen_registry_attach(registry, &library, message), CKGEN_INVALID_ARGUMENT);
  EXPECT_NE(std::string(text).find("no registered instance has id 0000000000000002"), std::string::npos) << text;
  ASSERT_EQ(ckgen_registry_add_library(registry, &tiny::library, message), CKGEN_OK) << text;
  ASSERT_EQ(ckgen_registry_attach(registry, &library, message), CKGEN_OK) << text;
  ckgen_options options{};
  options.size = sizeof options;
  ASSERT_EQ(ckgen_dispatcher_create(registry, &options, &dispatcher, message), CKGEN_OK) << text;
  ckgen_registry_destroy(registry);
  EXPECT_EQ(ckgen_instance_device_archs(dispatcher, 1, message), CKGEN_OK);
  EXPECT_STREQ(text, "gfx942,gfx950");
  EXPECT_EQ(ckgen_instance_device_archs(dispatcher, 0, message), CKGEN_OK);
  EXPECT_STREQ(text, "");
  EXPECT_EQ(ckgen_instance_device_archs(dispatcher, 5, message), CKGEN_INVALID_ARGUMENT);
  EXPECT_EQ(ckgen_instance_device_archs(nullptr, 0, message), CKGEN_INVALID_ARGUMENT);
  ckgen_instance_info info{};
  info.size = sizeof info;
  ASSERT_EQ(ckgen_instance(dispatcher, 1, &info, message), CKGEN_OK);
  EXPECT_EQ(info.has_device, 1);
  ASSERT_EQ(ckgen_instance(dispatcher, 0, &info, message), CKGEN_OK);
  EXPECT_EQ(info.has_device, 0);
  ckgen_dispatcher_destroy(dispatcher);
}

TEST_F(AttachPlan, PreloadsInC) {
  Code code;
  code.add(kMediumId, {Arch::gfx942});
  const DeviceLibrary library = code.library();
  char text[512];
  const ckgen_message message{text, sizeof text};
  ckgen_registry* registry = nullptr;
  ckgen_dispatcher* dispatcher = nullptr;
  ckgen_device* gpu = nullptr;
  ckgen_plan* plan = nullptr;
  ckgen_options options{};
  options.size = sizeof options;
  options.force = "tiny_medium";
  ASSERT_EQ(ckgen_registry_create(&registry, message), CKGEN_OK);
  ASSERT_EQ(ckgen_registry_add_library(registry, &tiny::library, message), CKGEN_OK) << text;
  ASSERT_EQ(ckgen_registry_attach(registry, &library, message), CKGEN_OK) << text;
  ASSERT_EQ(ckgen_dispatcher_create(registry, &options, &dispatcher, message), CKGEN_OK) << text;
  ckgen_registry_destroy(registry);
  ASSERT_EQ(mock.set_device(1), 0);
  ASSERT_EQ(ckgen_device_current(&gpu, message), CKGEN_OK) << text;
  const ckgen_problem problem{
      sizeof problem, tiny::fp16.pack(), 128, 1024, 2048, 1, 0, 0, nullptr, 0, 0, 0, 0, nullptr, 0, 0};
  ASSERT_EQ(ckgen_plan_create(dispatcher, gpu, &problem, nullptr, &plan, message), CKGEN_OK) << text;
  const int loads = mock.counts().loads;
  EXPECT_EQ(ckgen_preload(dispatcher, plan, message), CKGEN_OK) << text;
  EXPECT_EQ(mock.counts().loads, loads + 1);
  EXPECT_EQ(ckgen_preload(dispatcher, nullptr, message), CKGEN_INVALID_ARGUMENT);
  ASSERT_EQ(mock.set_device(0), 0);
  EXPECT_EQ(ckgen_preload(dispatcher, plan, message), CKGEN_INVALID_ARGUMENT);
  EXPECT_STREQ(text, "the plan is for HIP device 1, the current one is 0");
  ckgen_plan_destroy(plan);
  ckgen_device_destroy(gpu);
  ckgen_dispatcher_destroy(dispatcher);
}

}  // namespace test_attach
