// What the headers promise to several threads at once, for ThreadSanitizer to watch: selection while overrides are
// exchanged, runs with workspace of the pool and of the callers, loading of GPU code, hooks, the C API.
//
// Threads are held back by relaxed atomics only: an acquire would order what the test wants unordered.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <ckgen/c_api.h>

#include "mock_hip_test.hpp"
#include "tiny_device.hpp"
#include "tiny_library.hpp"

namespace test_concurrency {

using namespace ckgen;

constexpr int kThreads = 4;
constexpr std::int64_t kN = 1024, kK = 2048;
constexpr std::uint64_t kMediumId = 2;

/// Starts when all of them are there.
template <class Work>
void in_threads(Work work) {
  std::atomic<int> missing{kThreads};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&work, &missing, t] {
      missing.fetch_sub(1, std::memory_order_relaxed);
      while (missing.load(std::memory_order_relaxed) != 0) std::this_thread::yield();
      work(t);
    });
  for (std::thread& thread : threads) thread.join();
}

/// More workspace for more rows, so that a pool grows under way.
std::size_t bytes_of_rows(const Problem& problem) {
  return static_cast<std::size_t>(problem.m()) * 64;
}
std::size_t workspace_of_rows(const InstanceDesc&, const Problem& problem, std::uint32_t, std::uint32_t) noexcept {
  return bytes_of_rows(problem);
}
std::size_t device_workspace_of_rows(const InstanceDesc&, const Problem& problem, std::uint32_t, Arch,
                                     std::uint32_t) noexcept {
  return bytes_of_rows(problem);
}

/// A kernel that needs its whole workspace for itself: says so by plain writes, and by what it reads back.
Status fill_workspace(const Launch& launch) noexcept {
  static std::atomic<int> calls{0};
  const int mark = calls.fetch_add(1, std::memory_order_relaxed) % 255;
  auto* bytes = static_cast<unsigned char*>(launch.workspace);
  const std::size_t size = bytes_of_rows(*launch.problem);
  std::memset(bytes, mark, size);
  for (std::size_t i = 0; i < size; i += 64) {
    if (bytes[i] != mark) return Status::error(StatusCode::internal, "another launch writes to this workspace");
  }
  return Status::success();
}

class Concurrency : public MockHipTest {
 protected:
  Concurrency() {
    code.add(kMediumId, {Arch::gfx942});
    code.code(0).workspace = device_workspace_of_rows;
    EXPECT_TRUE(registry.attach(code.library()).ok());
    InstanceDesc own = tiny::instance("needs_workspace", 50, tiny::fp16, {16, 16, 16}, {0, 0, 0, 0, 0, 4, false});
    own.twin = fill_workspace;
    own.workspace = workspace_of_rows;
    EXPECT_TRUE(registry.add(own).ok());
  }
  ~Concurrency() override { std::filesystem::remove_all(folder); }

  Dispatcher dispatcher() const { return Dispatcher(registry, DispatcherOptions{}); }
  static Problem problem(std::int64_t m) { return tiny::problem(m, kN, kK); }

  /// The plan of one instance, with one split.
  Plan plan_of(const Dispatcher& of, const char* instance, std::int64_t m, const Device& on) const {
    Selection selection;
    selection.instance = registry.find(instance);
    selection.k_batch = 1;
    const auto made = of.plan(problem(m), on, selection);
    EXPECT_TRUE(made) << made.status().message;
    EXPECT_TRUE(made->launchable.ok()) << made->launchable.message;
    EXPECT_EQ(made->workspace_size, bytes_of_rows(problem(m)));
    return *made;
  }

  GemmArgs args(const Plan& plan) {
    GemmArgs args{};
    args.a = args.b = args.c = operand;  // no kernel here reads or writes them
    args.m = plan.problem.m();
    args.n = kN;
    args.k = args.lda = args.ldb = kK;
    args.batch = 1;
    args.ldc = kN;
    return args;
  }

  /// Makes a GPU the thread's own; a simulated device needs nothing.
  void be_current(const Device& on) const {
    if (on.kind() != DeviceKind::gpu) return;
    EXPECT_EQ(mock.set_device(on.id()), 0);
  }

  std::string written(const std::string& name, const std::string& text) {
    std::filesystem::create_directories(folder);
    std::ofstream(folder + '/' + name) << text;
    return folder + '/' + name;
  }
  std::string overriding(const char* instance) {
    return written(instance, "target,signature,B,M,N,K,instance,k_batch\ngfx942,fp16,,128,1024,2048," +
                                 std::string(instance) + ",1\n");
  }

  /// One thread runs, then another one, which nothing but the dispatcher orders behind it.
  void run_in_turn(const Dispatcher& of, const Plan& plan) {
    std::atomic<int> turn{0};
    const auto run = [&](int own) {
      be_current(plan.device);
      while (turn.load(std::memory_order_relaxed) != own) std::this_thread::yield();
      EXPECT_TRUE(of.run(plan, args(plan), nullptr).ok());
      turn.store(own + 1, std::memory_order_relaxed);
    };
    std::thread first(run, 0);
    std::thread second(run, 1);
    first.join();
    second.join();
  }

  tiny::Code code;
  Registry registry = tiny::registry();
  Device simulated = Device::simulated("gfx942:304");
  std::string folder =
      (std::filesystem::temp_directory_path() / ("ckgen_threads_" + std::to_string(getpid()))).string();
  alignas(64) unsigned char operand[64] = {};
};

TEST_F(Concurrency, TheSecondThreadOnAStreamFindsThePooledWorkspaceOfTheFirst) {
  const Dispatcher own = dispatcher();
  run_in_turn(own, plan_of(own, "needs_workspace", 16, simulated));
  run_in_turn(own, plan_of(own, "tiny_medium", 16, device(0)));
}

TEST_F(Concurrency, PooledWorkspaceGrowsWhileOthersRunOnTheSameAndOnOtherStreams) {
  const Dispatcher own = dispatcher();
  int streams[2] = {};
  for (const Device& on : {simulated, device(0)}) {
    const char* instance = on.kind() == DeviceKind::gpu ? "tiny_medium" : "needs_workspace";
    std::vector<Plan> plans;
    for (const std::int64_t m : {16, 32, 64, 128}) plans.push_back(plan_of(own, instance, m, on));
    in_threads([&](int t) {
      be_current(on);
      for (std::size_t i = 0; i < 40; ++i) {
        const Plan& plan = plans[i / 10];
        const Status status = own.run(plan, args(plan), &streams[t % 2]);
        ASSERT_TRUE(status.ok()) << status.message;
      }
    });
  }
}

TEST_F(Concurrency, CallersWithWorkspacesOfTheirOwnRunOnePlan) {
  const Dispatcher own = dispatcher();
  const Plan plan = plan_of(own, "needs_workspace", 64, simulated);
  in_threads([&](int) {
    const std::unique_ptr<unsigned char[]> room(new unsigned char[plan.workspace_size + 64]);
    void* aligned = room.get() + (64 - reinterpret_cast<std::uintptr_t>(room.get()) % 64) % 64;
    for (int i = 0; i < 50; ++i) {
      const Status status = own.run(plan, args(plan), aligned, nullptr);
      ASSERT_TRUE(status.ok()) << status.message;
    }
  });
}

TEST_F(Concurrency, CodeIsLoadedOnceADeviceWhoeverPreloadsOrRunsFirst) {
  const Dispatcher own = dispatcher();
  const Plan plans[] = {plan_of(own, "tiny_medium", 16, device(0)), plan_of(own, "tiny_medium", 16, device(1))};
  const MockCounts before = mock.counts();
  in_threads([&](int t) {
    for (int i = 0; i < 20; ++i) {
      const Plan& plan = plans[(i + t / 2) % 2];
      be_current(plan.device);
      ASSERT_TRUE((t % 2 == 0 ? own.preload(plan) : own.run(plan, args(plan), nullptr)).ok());
    }
  });
  EXPECT_EQ(mock.counts().loads - before.loads, 2);
  EXPECT_EQ(mock.counts().functions - before.functions, 2);
}

TEST_F(Concurrency, EveryConstMemberAnswersAlikeFromEveryThread) {
  const Dispatcher own = dispatcher();
  const auto answer = [&](std::int64_t m) {
    const Selection first = own.select(problem(m), simulated);
    const Selection second = own.next(problem(m), simulated, first);
    const auto plan = own.plan(problem(m), simulated);
    int supported = 0;
    own.enumerate(
        problem(m), simulated, [](void* count, const Selection&) { return ++*static_cast<int*>(count) > 0; },
        &supported);
    return std::to_string(first.instance) + ' ' + std::to_string(second.instance) + ' ' +
           std::to_string(plan->workspace_size) + ' ' + std::to_string(supported) + ' ' +
           own.registry().instance(own.registry().find("tiny_small")).name + own.explain(problem(m), simulated);
  };
  const std::vector<std::int64_t> rows = {1, 16, 100, 128, 2048};
  std::vector<std::string> expected;
  for (const std::int64_t m : rows) expected.push_back(answer(m));
  in_threads([&](int) {
    for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(answer(rows[i]), expected[i]) << rows[i];
  });
}

TEST_F(Concurrency, TwoThreadsExchangeOverridesWhileOthersSelectAndRun) {
  Dispatcher own = dispatcher();
  const std::string files[] = {overriding("tiny_small"), overriding("tiny_medium")};
  ASSERT_TRUE(own.load_overrides(files[0].c_str()).ok());
  const Plan plan = plan_of(own, "needs_workspace", 16, simulated);
  in_threads([&](int t) {
    for (int i = 0; i < 40; ++i) {
      if (t < 2) {
        ASSERT_TRUE(own.load_overrides(files[t].c_str()).ok());
        continue;
      }
      const Selection first = own.select(problem(128), simulated);
      ASSERT_EQ(first.tier, Tier::override_);
      ASSERT_LE(first.instance, tiny::kMedium);
      static_cast<void>(own.next(problem(128), simulated, first));
      ASSERT_TRUE(own.plan(problem(128), simulated));
      ASSERT_NE(own.explain(problem(128), simulated).find("override"), std::string::npos);
      ASSERT_TRUE(own.run(plan, args(plan), nullptr).ok());
    }
  });
}

TEST_F(Concurrency, MissedShapesAreRecordedOnce) {
  const Dispatcher own(registry, DispatcherOptions{false, "", folder, ""});
  constexpr int shapes = 32;
  in_threads([&](int t) {  // each begins elsewhere: all of them record
    for (int i = 0; i < shapes; ++i) static_cast<void>(own.select(problem(8192 + (i + t * 8) % shapes), simulated));
  });
  int lines = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    std::ifstream in(file.path());
    for (std::string line; std::getline(in, line);) ++lines;
  }
  EXPECT_EQ(lines, 1 + shapes);
}

TEST_F(Concurrency, VerboseLinesStayWhole) {
  const Dispatcher own(registry, DispatcherOptions{true, "", "", ""});
  ::testing::internal::CaptureStderr();
  in_threads([&](int t) { static_cast<void>(own.select(problem(t + 1), simulated)); });
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), kThreads) << said;
  for (std::size_t at = 0; at < said.size(); at = said.find('\n', at) + 1)
    EXPECT_EQ(said.compare(at, 23, "ckgen_verbose,v1,select"), 0) << said.substr(at, 60);
}

TEST_F(Concurrency, TheCApiServesThreadsFromOneDispatcherAndOneDevice) {
  ckgen_registry* c_registry = nullptr;
  ckgen_dispatcher* c_dispatcher = nullptr;
  ckgen_device* c_device = nullptr;
  ASSERT_EQ(ckgen_registry_create(&c_registry, {}), CKGEN_OK);
  ASSERT_EQ(ckgen_registry_add_library(c_registry, &tiny::library, {}), CKGEN_OK);
  ASSERT_EQ(ckgen_device_simulated("gfx942:304", 0, &c_device, {}), CKGEN_OK);
  ckgen_options none{};
  none.size = sizeof none;
  ASSERT_EQ(ckgen_dispatcher_create(c_registry, &none, &c_dispatcher, {}), CKGEN_OK);
  const std::string file = overriding("tiny_small");
  const ckgen_problem wanted{
      sizeof wanted, tiny::fp16.pack(), 128, kN, kK, 1, 0, 0, nullptr, 0, 0, 0, 0, nullptr, 0, 0};
  in_threads([&](int t) {
    for (int i = 0; i < 40; ++i) {
      char text[256];
      const ckgen_message message{text, sizeof text};
      if (t == 0) {
        ASSERT_EQ(ckgen_load_overrides(c_dispatcher, file.c_str(), message), CKGEN_OK) << text;
      }
      ckgen_device_info on{};
      on.size = sizeof on;
      ASSERT_EQ(ckgen_device_describe(c_device, &on, message), CKGEN_OK) << text;
      ASSERT_EQ(on.cu_num, 304U);
      ckgen_selection chosen{};
      chosen.size = sizeof chosen;
      ASSERT_EQ(ckgen_select(c_dispatcher, c_device, &wanted, &chosen, message), CKGEN_OK) << text;
      ASSERT_LE(chosen.instance, tiny::kMedium);
      ckgen_plan* plan = nullptr;
      ASSERT_EQ(ckgen_plan_create(c_dispatcher, c_device, &wanted, &chosen, &plan, message), CKGEN_OK) << text;
      EXPECT_EQ(ckgen_preload(c_dispatcher, plan, message), CKGEN_OK) << text;
      ckgen_plan_destroy(plan);
    }
  });
  ckgen_dispatcher_destroy(c_dispatcher);
  ckgen_device_destroy(c_device);
  ckgen_registry_destroy(c_registry);
}

}  // namespace test_concurrency
