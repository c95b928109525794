// The step heuristic: each comparison, each size, and what follows a leaf that the problem fails.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tiny_library.hpp"

namespace test_heuristics {

using namespace ckgen;
using namespace ckgen::describe;

constexpr InstanceDesc of(const char* name, std::uint64_t id, std::int32_t n_multiple = 0) {
  return tiny::instance(name, id, tiny::fp16, {16, 16, 16}, {0, n_multiple, 0, 0, 0, 8, false});
}
constexpr InstanceDesc instances[] = {of("first", 41), of("even", 42, 2), of("third", 43), of("other", 44)};
constexpr Choice leaves[] = {{0, 1}, {1, 1}, {2, 1}};
constexpr DecisionNode nodes[] = {
    {{Feature::m, Compare::eq, 2}, 1, 2},
    {{Feature::n, Compare::le, 2}, leaf(0), 2},
    {{Feature::k, Compare::lt, 3}, leaf(1), 3},
    {{Feature::n, Compare::ne, 3}, 4, no_leaf},
    {{Feature::mn, Compare::le, 4}, leaf(2), no_leaf},
};
constexpr Choice always[] = {{3, 1}};
constexpr Heuristic heuristics[] = {heuristic("sizes", Arch::gfx942, leaves, nodes),
                                    heuristic("always", Arch::gfx942, always)};
// At N = K = 1 another library's kernel won M = 4096.
constexpr Rung external_rungs[] = {rung(4096, tiny::kExtA)};
constexpr Group groups[] = {with_external<external_rungs>(group(1, 1))};
constexpr auto slots = slots_of(groups);
constexpr LookupTable table = lookup_table(Arch::gfx942, 304, tiny::policy, groups, slots, tiny::externals);
constexpr const LookupTable* tables[] = {&table};
constexpr SignatureUnit unit{"gemm_fp16_rcr", tiny::fp16, instances, 4, tables, 1, heuristics, 2, nullptr, 0};
constexpr const SignatureUnit* units[] = {&unit};
constexpr Library library{"heuristics", CKGEN_RUNTIME_ABI, 0x97, units, 1};

/// One whose leaf the problem fails, or that has none, leaves it to the next rule.
std::string expected(std::int64_t m, std::int64_t n, std::int64_t k) {
  if (m == 2 && n <= 2) return "first";
  if (k < 3) return n % 2 == 0 ? "even" : "other";
  return n != 3 && m * n <= 4 ? "third" : "other";
}

TEST(Heuristics, TheLeafThatConditionsLeadToAnswersForItsRule) {
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
constexpr Choice of_devices[] = {{0, 1}, {2, 1}, {3, 1}};
constexpr DecisionNode device_nodes[] = {{{Feature::cus, Compare::le, 80}, leaf(0), 1},
                                         {{Feature::rows, Compare::lt, 3}, leaf(1), leaf(2)}};
constexpr Heuristic on_devices[] = {heuristic("devices", Arch::gfx942, of_devices, device_nodes)};
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

constexpr InstanceDesc split(const char* name, std::uint64_t id, std::int32_t max_k_batch) {
  return tiny::instance(name, id, tiny::fp16, {16, 16, 16}, {0, 0, 0, 0, 0, max_k_batch, false});
}
constexpr InstanceDesc tiled_instances[] = {split("four", 51, 8), split("whole", 52, 1), split("pad", 53, 1),
                                            split("fill", 54, 1), split("wave", 55, 1)};
constexpr Choice of_tiles[] = {{0, 4}, {1, 2}, {2, 1}, {3, 1}, {4, 1}};
constexpr DecisionNode tile_nodes[] = {{{Feature::tiles, Compare::le, 4, 16, 32}, leaf(0), 1},
                                       {{Feature::tiles, Compare::le, 5, 16, 32}, leaf(1), 2},
                                       {{Feature::waves, Compare::lt, 2, 16, 32}, leaf(4), 3},
                                       {{Feature::pad, Compare::eq, 1000, 16}, leaf(2), 4},
                                       {{Feature::fill, Compare::le, 800, 16, 32}, leaf(3), no_leaf}};
constexpr Heuristic on_tiles[] = {heuristic("tiles", Arch::gfx942, of_tiles, tile_nodes)};
constexpr SignatureUnit tiled_unit{"gemm_fp16_rcr", tiny::fp16, tiled_instances, 5, nullptr, 0,
                                   on_tiles,        1,          nullptr,         0};
constexpr const SignatureUnit* tiled_units[] = {&tiled_unit};
constexpr Library tiled_library{"tiled", CKGEN_RUNTIME_ABI, 0x99, tiled_units, 1};

TEST(Heuristics, CountTilesWavesAndTheirShares) {
  Registry registry;
  ASSERT_TRUE(registry.add(tiled_library).ok());
  const Dispatcher dispatcher{registry, DispatcherOptions{}};
  const auto answer = [&](std::int64_t m, std::int64_t n) {
    const Selection s = dispatcher.select(tiny::problem(m, n, 64), Device::simulated("gfx942:10"));
    return s ? std::string(registry.instance(s.instance).name) + ' ' + std::to_string(s.k_batch) : std::string("none");
  };
  EXPECT_EQ(answer(32, 64), "four 4");    // 2 x 2 tiles
  EXPECT_EQ(answer(16, 160), "whole 1");  // 5 tiles; its two splits are refused
  EXPECT_EQ(answer(33, 64), "wave 1");    // 3 x 2 tiles on 10 CUs
  EXPECT_EQ(answer(16 * 11, 32), "pad 1");
  EXPECT_EQ(answer(16 * 11 - 1, 32), "fill 1");  // 11 tiles of 2 x 10
  EXPECT_EQ(answer(16 * 16, 31), "pad 1");
  EXPECT_EQ(answer(16 * 16 + 1, 31), "none");  // 17 of 20
}

// A product's rule stands behind that of all, and has no answer from M = 3 on.
constexpr Choice of_product[] = {{0, 1}};
constexpr DecisionNode product_nodes[] = {{{Feature::m, Compare::lt, 3}, leaf(0), no_leaf}};
constexpr Heuristic on_products[] = {heuristic("all", Arch::gfx942, always),
                                     heuristic("one", Arch::gfx942, of_product, product_nodes, "mi325x")};
constexpr SignatureUnit product_unit{"gemm_fp16_rcr", tiny::fp16, instances, 4, nullptr, 0, on_products, 2, nullptr, 0};
constexpr SignatureUnit own_unit{"gemm_fp16_rcr", tiny::fp16, instances, 4, nullptr, 0, &on_products[1], 1, nullptr, 0};

TEST(Heuristics, OfAProductAnswerItAloneAndFirst) {
  const SignatureUnit* const units_of_all[] = {&product_unit};
  const Library made{"products", CKGEN_RUNTIME_ABI, 0x9b, units_of_all, 1};
  Registry registry;
  ASSERT_TRUE(registry.add(made).ok());
  const Dispatcher dispatcher{registry, DispatcherOptions{}};
  const auto answer = [&](const char* device, std::int64_t m) {
    const Selection s = dispatcher.select(tiny::problem(m, 1, 1), Device::simulated(device));
    return std::string(registry.instance(s.instance).name);
  };
  EXPECT_EQ(answer("gfx942:304:mi325x", 2), "first");
  EXPECT_EQ(answer("gfx942:38:mi325x", 2), "first");
  EXPECT_EQ(answer("gfx942:304:mi325x", 3), "other");
  EXPECT_EQ(answer("gfx942:304:mi300x", 2), "other");
  EXPECT_EQ(answer("gfx942:304", 2), "other");
}

TEST(Heuristics, OfAnotherProductAreNone) {
  const SignatureUnit* const units_of_one[] = {&own_unit};
  const Library made{"own", CKGEN_RUNTIME_ABI, 0x9c, units_of_one, 1};
  Registry registry;
  ASSERT_TRUE(registry.add(made).ok());
  const Dispatcher dispatcher{registry, DispatcherOptions{}};
  const auto says = [&](const char* device, const char* text) {
    return dispatcher.explain(tiny::problem(3, 1, 1), Device::simulated(device)).find(text) != std::string::npos;
  };
  EXPECT_TRUE(says("gfx942:304", "no decision rule on gfx942"));
  EXPECT_TRUE(says("gfx942:304:mi325x", "the decision rule leads to no kernel"));
}

TEST(Heuristics, OfAProductThatItsArchDoesNotHaveAreRefused) {
  constexpr auto refused = [](const char* sku) {
    const Heuristic rules[] = {heuristic("named", Arch::gfx942, always, sku)};
    const SignatureUnit of{"gemm_fp16_rcr", tiny::fp16, instances, 4, nullptr, 0, rules, 1, nullptr, 0};
    const SignatureUnit* const all[] = {&of};
    const Library made{"named", CKGEN_RUNTIME_ABI, 0x9d, all, 1};
    Registry registry;
    return !registry.add(made).ok();
  };
  EXPECT_FALSE(refused(nullptr));
  EXPECT_FALSE(refused("mi325x"));
  EXPECT_TRUE(refused("emeraldrapids"));
  EXPECT_TRUE(refused(""));
}

TEST(Heuristics, ThatLeadBackOrNowhereAreRefused) {
  constexpr auto refused = [](std::int16_t then, std::int16_t otherwise) {
    const DecisionNode back[] = {{{Feature::m, Compare::le, 1}, 1, leaf(0)},
                                 {{Feature::m, Compare::le, 2}, then, otherwise}};
    const Heuristic rules[] = {heuristic("back", Arch::gfx942, always, back)};
    const SignatureUnit of{"gemm_fp16_rcr", tiny::fp16, instances, 4, nullptr, 0, rules, 1, nullptr, 0};
    const SignatureUnit* const all[] = {&of};
    const Library made{"back", CKGEN_RUNTIME_ABI, 0x9a, all, 1};
    Registry registry;
    return !registry.add(made).ok();
  };
  EXPECT_FALSE(refused(leaf(0), no_leaf));
  EXPECT_TRUE(refused(0, no_leaf));
  EXPECT_TRUE(refused(leaf(0), 1));
  EXPECT_TRUE(refused(2, leaf(0)));
  EXPECT_TRUE(refused(leaf(1), leaf(0)));
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

}  // namespace test_heuristics
