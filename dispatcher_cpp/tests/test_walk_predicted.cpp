// Defaults by predicted clocks: where each has a work, and not beside one that has none.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tiny_library.hpp"

namespace test_walk_predicted {

using namespace ckgen;

// By the plain cost "square" is the cheapest for one tile of 64x64; predicted, what waits the least is.
namespace timed {
constexpr InstanceDesc of(const char* name, std::uint64_t id, std::int32_t n) {
  return tiny::instance(name, id, tiny::fp16, {64, n, 32}, {0, 0, 0, 0, 0, 1, false});
}
constexpr InstanceDesc instances[] = {of("square", 41, 64), of("wide", 42, 128), of("wider", 43, 256)};
constexpr DefaultWork waits(std::uint32_t n, std::uint32_t latency) {
  return {64, n, 32, 2, 1000, 100, 500, 100, latency, 10, 10, 4096, 64, 512, 0, 16, 16, 16};
}
constexpr std::uint16_t in_order[] = {0, 1, 2};
constexpr DefaultWork works[] = {waits(64, 90'000), waits(128, 20'000), waits(256, 20'000)};
constexpr Defaults defaults[] = {describe::defaults_on(Arch::gfx942, in_order, works),
                                 describe::defaults_on(Arch::gfx950, in_order)};
constexpr SignatureUnit unit{"gemm_fp16_rcr", tiny::fp16, instances, 3, nullptr, 0, nullptr, 0, defaults, 2};
constexpr const SignatureUnit* units[] = {&unit};
constexpr Library library{"timed", CKGEN_RUNTIME_ABI, 0x79, units, 1};
}  // namespace timed

std::vector<std::string> order(const Registry& registry, const char* arch) {
  const Dispatcher dispatcher{registry, DispatcherOptions{}};
  const Problem problem = tiny::problem(64, 64, 512);
  const Device device = Device::simulated(arch);
  std::vector<std::string> names;
  for (Selection s = dispatcher.select(problem, device); s && names.size() < 9; s = dispatcher.next(problem, device, s))
    names.emplace_back(registry.instance(s.instance).name);
  return names;
}

using Names = std::vector<std::string>;

TEST(WalkPredicted, DefaultsComeByPredictedClocksAndOfEqualOnesAsTheyAreListed) {
  Registry registry;
  ASSERT_TRUE(registry.add(timed::library).ok());
  EXPECT_EQ(order(registry, "gfx942"), (Names{"wide", "wider", "square"}));
  EXPECT_EQ(order(registry, "gfx950"), (Names{"square", "wide", "wider"})) << "no works: the plain cost";
}

TEST(WalkPredicted, AUsersInstanceIsHeldAgainstTheOthersByThePlainCost) {
  Registry registry;
  ASSERT_TRUE(registry.add(timed::library).ok());
  ASSERT_TRUE(
      registry
          .add(tiny::instance("mine", 91, tiny::fp16, {32, 32, 32}, {0, 0, 0, 0, 0, 1, false}, tiny::bit(Arch::gfx942)))
          .ok());
  EXPECT_EQ(order(registry, "gfx942"), (Names{"mine", "square", "wide", "wider"}));
}

TEST(WalkPredicted, AWorkWithoutATileIsRefused) {
  static constexpr DefaultWork none[] = {timed::works[0], timed::works[1], {}};
  static constexpr Defaults defaults[] = {describe::defaults_on(Arch::gfx942, timed::in_order, none)};
  static constexpr SignatureUnit unit{"gemm_fp16_rcr", tiny::fp16, timed::instances, 3, nullptr, 0,
                                      nullptr,         0,          defaults,         1};
  static constexpr const SignatureUnit* units[] = {&unit};
  static constexpr Library library{"wrong", CKGEN_RUNTIME_ABI, 0x7a, units, 1};
  Registry registry;
  EXPECT_FALSE(registry.add(library).ok());
}

}  // namespace test_walk_predicted
