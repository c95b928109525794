// select() does not allocate: counted. benchmarks/select.cpp says what it takes.
#include <gtest/gtest.h>

#include "counted_new.hpp"
#include "tiny_library.hpp"

namespace test_hot_path {

using namespace ckgen;

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

}  // namespace test_hot_path
