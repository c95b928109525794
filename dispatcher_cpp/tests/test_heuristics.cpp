// The step heuristic: each comparison, each size, and what follows a leaf that the problem fails.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tiny_library.hpp"

namespace {

using namespace ckgen;
using namespace ckgen::describe;

constexpr InstanceDesc of(const char* name, std::uint64_t id, std::int32_t n_multiple = 0) {
  return tiny::instance(name, id, tiny::fp16, {16, 16, 16}, {0, n_multiple, 0, 0, 0, 8, false});
}
constexpr InstanceDesc instances[] = {of("first", 41), of("even", 42, 2), of("third", 43), of("other", 44)};
constexpr Condition first_if[] = {{Feature::m, Compare::eq, 2}, {Feature::n, Compare::le, 2}};
constexpr Condition even_if[] = {{Feature::k, Compare::lt, 3}};
constexpr Condition third_if[] = {{Feature::n, Compare::ne, 3}, {Feature::mn, Compare::le, 4}};
constexpr Arm arms[] = {{first_if, 2, {0, 4}}, {even_if, 1, {1, 4}}, {third_if, 2, {2, 4}}};
constexpr Arm always[] = {{nullptr, 0, {3, 4}}};
constexpr Heuristic heuristics[] = {{"sizes", Arch::gfx942, arms, 3}, {"always", Arch::gfx942, always, 1}};
// At N = K = 1 another library's kernel won M = 4096.
constexpr Rung external_rungs[] = {rung(4096, tiny::kExtA)};
constexpr Group groups[] = {with_external<external_rungs>(group(1, 1))};
constexpr auto slots = slots_of(groups);
constexpr LookupTable table = lookup_table(Arch::gfx942, 304, tiny::policy, groups, slots, tiny::externals);
constexpr const LookupTable* tables[] = {&table};
constexpr SignatureUnit unit{"gemm_fp16_rcr", tiny::fp16, instances, 4, tables, 1, heuristics, 2, nullptr, 0};
constexpr const SignatureUnit* units[] = {&unit};
constexpr Library library{"heuristics", CKGEN_RUNTIME_ABI, 0x97, units, 1};

/// The first arm that holds; one whose leaf the problem fails leaves it to the next rule.
std::string expected(std::int64_t m, std::int64_t n, std::int64_t k) {
  if (m == 2 && n <= 2) return "first";
  if (k < 3) return n % 2 == 0 ? "even" : "other";
  return n != 3 && m * n <= 4 ? "third" : "other";
}

TEST(Heuristics, TheFirstArmThatHoldsAnswersForItsRule) {
  Registry registry;
  ASSERT_TRUE(registry.add(library).ok());
  const Dispatcher dispatcher{registry, DispatcherOptions{}};
  for (std::int64_t m = 1; m <= 5; ++m)
    for (std::int64_t n = 1; n <= 5; ++n)
      for (std::int64_t k = 1; k <= 5; ++k) {
        const Selection s = dispatcher.select(tiny::problem(m, n, k), Device::simulated("gfx942"));
        ASSERT_EQ(s.tier, Tier::heuristic);
        EXPECT_EQ(registry.instance(s.instance).name, expected(m, n, k)) << m << 'x' << n << 'x' << k;
        EXPECT_EQ(s.k_batch, 1U);
      }
  EXPECT_FALSE(dispatcher.select(tiny::problem(1, 1, 1), Device::simulated("gfx950")));
}

// Rows of one product, which are M of a GEMM, and the device's compute units.
constexpr Condition small_if[] = {{Feature::cus, Compare::le, 80}};
constexpr Condition few_if[] = {{Feature::rows, Compare::lt, 3}};
constexpr Arm of_devices[] = {{small_if, 1, {0, 1}}, {few_if, 1, {2, 1}}, {nullptr, 0, {3, 1}}};
constexpr Heuristic on_devices[] = {{"devices", Arch::gfx942, of_devices, 3}};
constexpr SignatureUnit device_unit{"gemm_fp16_rcr", tiny::fp16, instances, 4, nullptr, 0, on_devices, 1, nullptr, 0};
constexpr const SignatureUnit* device_units[] = {&device_unit};
constexpr Library device_library{"devices", CKGEN_RUNTIME_ABI, 0x98, device_units, 1};

TEST(Heuristics, LookAtRowsAndComputeUnits) {
  Registry registry;
  ASSERT_TRUE(registry.add(device_library).ok());
  const Dispatcher dispatcher{registry, DispatcherOptions{}};
  const auto answer = [&](const char* device, std::int64_t m) {
    return std::string(
        registry.instance(dispatcher.select(tiny::problem(m, 1, 1), Device::simulated(device)).instance).name);
  };
  EXPECT_EQ(answer("gfx942:80", 5), "first");
  EXPECT_EQ(answer("gfx942:81", 2), "third");
  EXPECT_EQ(answer("gfx942:81", 3), "other");
}

TEST(Heuristics, AnswerBeforeAProviderWhoseRungIsFar) {
  Registry registry;
  ASSERT_TRUE(registry.add(library).ok());
  ASSERT_TRUE(registry.provide(tiny::externals[0].library, tiny::externals[0].name, of("mine", 45)).ok());
  const Dispatcher dispatcher{registry, DispatcherOptions{}};
  const Device device = Device::simulated("gfx942:304");
  const auto answer = [&](std::int64_t m) {
    const Selection s = dispatcher.select(tiny::problem(m, 1, 1), device);
    return std::string(tier_name(s.tier)) + ' ' + registry.instance(s.instance).name;
  };
  EXPECT_EQ(answer(4096), "exact mine");
  EXPECT_EQ(answer(2048), "near mine");
  EXPECT_EQ(answer(2047), "heuristic other");
  EXPECT_EQ(answer(4097), "heuristic other");
}

}  // namespace
