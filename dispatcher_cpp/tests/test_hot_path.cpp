// select() neither allocates nor waits: counted and timed.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

#include "counted_new.hpp"
#include "tiny_library.hpp"

namespace {

using namespace ckgen;

#if defined(NDEBUG) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
constexpr bool kTimed = true;
#else
constexpr bool kTimed = false;
#endif

double nanoseconds(const Dispatcher& dispatcher, const Device& device, const Problem& problem) {
  using Clock = std::chrono::steady_clock;
  constexpr int kRounds = kTimed ? 200'000 : 2'000;
  double best = 1e9;
  std::uint64_t sum = 0;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const auto begin = Clock::now();
    for (int i = 0; i < kRounds; ++i) sum += dispatcher.select(problem, device).instance;
    best = std::min(best, std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / kRounds);
  }
  EXPECT_NE(sum, 1U);
  return best;
}

TEST(HotPath, SelectPlanAndRefusalDoNotAllocate) {
  const Dispatcher dispatcher{tiny::registry(), DispatcherOptions{}};
  const Device device = Device::simulated("gfx942");
  const Problem problems[] = {tiny::problem(128, 1024, 2048),
                              tiny::problem(33, 1024, 2048),
                              tiny::problem(600, 1024, 2048),
                              tiny::problem(64, 512, 8192),
                              tiny::problem(300, 300, 100),
                              tiny::problem(0, 1, 1),
                              gemm("a8w8_blockscale").shape(128, 256, 256),
                              gemm("nonsense")};
  const long before = allocations();
  for (const Problem& problem : problems) static_cast<void>(dispatcher.select(problem, device));
  EXPECT_TRUE(dispatcher.plan(problems[0], device));
  EXPECT_EQ(allocations(), before);
}

TEST(HotPath, SelectIsFast) {
  const Dispatcher dispatcher{tiny::registry(), DispatcherOptions{}};
  const Device device = Device::simulated("gfx942");
  const struct {
    const char* name;
    Problem problem;
  } cases[] = {{"exact", tiny::problem(64, 1024, 2048)},
               {"near", tiny::problem(100, 1024, 2048)},
               {"far", tiny::problem(600, 1024, 2048)},
               {"other_cu", tiny::problem(64, 512, 8192)},
               {"default", tiny::problem(300, 320, 640)}};
  for (const auto& c : cases) {
    const double ns = nanoseconds(dispatcher, device, c.problem);
    RecordProperty(c.name, std::to_string(ns));
    std::printf("select %-8s %6.1f ns\n", c.name, ns);
    if (kTimed) {
      EXPECT_LT(ns, 2000) << "an order of magnitude over the target: something is wrong, not just a slow machine";
    }
  }
}

}  // namespace
