// Rows that leave their work to the caller's own kernel: what of ckgen's own they reject, and where.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tiny_library.hpp"

namespace test_caller_owns {

using namespace ckgen;
using namespace ckgen::describe;

// Kernels of ckgen's own (backend hip), one of them in large tiles, and one of ck_tile; rows of 304 CUs leave M = 8
// and 16 to the caller's kernel, and those of 80 CUs choose one.
namespace declining {
constexpr InstanceDesc of_hip(const char* name, std::uint64_t id, std::int32_t m) {
  InstanceDesc made = tiny::instance(name, id, tiny::fp16, {m, 64, 32}, {0, 0, 0, 0, 0, 1, false});
  made.backend = Backend::hip;
  return made;
}
constexpr InstanceDesc instances[] = {of_hip("own", 11, 8),
                                      tiny::instance("next", 12, tiny::fp16, {64, 64, 32}, {16, 0, 0, 0, 0, 1, false}),
                                      of_hip("large", 13, 256)};
constexpr ExternalKernel externals[] = {{callers_own, "own"}};
constexpr Rung rungs[] = {rung(8, 0)};
constexpr Rung declined[] = {rung(8, 16, 8, 0)};
constexpr Group groups304[] = {with_external<declined>(group(1024, 2048))};
constexpr Group groups80[] = {ladder<rungs>(1024, 2048)};
constexpr auto slots304 = slots_of(groups304);
constexpr auto slots80 = slots_of(groups80);
constexpr LookupTable table304 = lookup_table(Arch::gfx942, 304, tiny::policy, groups304, slots304, externals);
constexpr LookupTable table80 = lookup_table(Arch::gfx942, 80, tiny::policy, groups80, slots80);
constexpr const LookupTable* tables[] = {&table80, &table304};
constexpr std::uint16_t in_order[] = {0, 2, 1};
constexpr Defaults defaults[] = {{Arch::gfx942, in_order, 3}};
constexpr SignatureUnit unit{"gemm_fp16_rcr", tiny::fp16, instances, 3, tables, 2, nullptr, 0, defaults, 1};
constexpr const SignatureUnit* units[] = {&unit};
constexpr Library library{"declining", CKGEN_RUNTIME_ABI, 0x77, units, 1};
}  // namespace declining

TEST(Declined, ByARowOfExactlyThisMTheNextTierOrNobodyAnswers) {
  Registry registry;
  ASSERT_TRUE(registry.add(declining::library).ok());
  const Dispatcher dispatcher{registry, DispatcherOptions{}};
  const auto answer = [&](std::int64_t m, const char* target) {
    const Selection s = dispatcher.select(tiny::problem(m, 1024, 2048), Device::simulated(target));
    return s ? std::string(dispatcher.registry().instance(s.instance).name) : reason(s);
  };
  EXPECT_EQ(answer(8, "gfx942:304"),
            "a row of the table leaves M = 8 to the caller's own kernel (rule gemm.instance.declined)");
  EXPECT_EQ(answer(16, "gfx942:304"), "next");
  EXPECT_EQ(answer(12, "gfx942:304"), "own");
  EXPECT_EQ(answer(8, "gfx942:80"), "own");
  const Selection s = dispatcher.select(tiny::problem(8, 1024, 2048), Device::simulated("gfx942:304"));
  ASSERT_NE(s.external, no_index);
  EXPECT_STREQ(dispatcher.registry().external(s.external).library, callers_own);
}

/// Names of all instances that the library answers M of such problems with, in order; where there is none, why.
std::string tried(const Library& library, std::int64_t m) {
  Registry registry;
  EXPECT_TRUE(registry.add(library).ok());
  const Dispatcher dispatcher{registry, DispatcherOptions{}};
  const Problem problem = tiny::problem(m, 1024, 2048);
  const Device device = Device::simulated("gfx942:304");
  Selection s = dispatcher.select(problem, device);
  std::string found = s ? "" : reason(s);
  for (; s; s = dispatcher.next(problem, device, s)) found += std::string(registry.instance(s.instance).name) + ' ';
  return found;
}

TEST(Declined, NextPassesThemToo) {
  EXPECT_EQ(tried(declining::library, 16), "next ");
  EXPECT_EQ(tried(declining::library, 32), "own next large ");
}

// Kernels of ckgen's own that a near row, a decision rule, a far row and the defaults offer, M being a row that
// declines. The default of at least 48 rows is for measured sizes only.
namespace offered {
constexpr InstanceDesc of_hip(const char* name, std::uint64_t id, std::int32_t most_m) {
  InstanceDesc made = declining::of_hip(name, id, most_m);
  made.constraints.max_m = most_m;
  made.constraints.min_m = most_m == 64 ? 48 : 0;
  made.constraints.measured_only = most_m == 64;
  return made;
}
constexpr InstanceDesc instances[] = {of_hip("near", 21, 40), of_hip("ruled", 22, 41), of_hip("far", 23, 42),
                                      of_hip("measured", 24, 64), of_hip("default", 25, 43)};
constexpr Rung rungs[] = {rung(32, 0), rung(500, 2)};
constexpr Rung declined[] = {rung(24, 0)};
constexpr Group groups[] = {with_external<declined>(ladder<rungs>(1024, 2048))};
constexpr auto slots = slots_of(groups);
constexpr LookupTable table = lookup_table(Arch::gfx942, 304, tiny::policy, groups, slots, declining::externals);
constexpr const LookupTable* tables[] = {&table};
constexpr Choice leaves[] = {{1, 1}};
constexpr DecisionNode nodes[] = {{{Feature::m, Compare::le, 1000}, leaf(0), no_leaf}};
constexpr Heuristic heuristics[] = {heuristic("offered", Arch::gfx942, leaves, nodes)};
constexpr std::uint16_t in_order[] = {3, 4};
constexpr Defaults defaults[] = {{Arch::gfx942, in_order, 2}};
constexpr SignatureUnit unit{"gemm_fp16_rcr", tiny::fp16, instances, 5, tables, 1, heuristics, 1, defaults, 1};
constexpr const SignatureUnit* units[] = {&unit};
constexpr Library library{"offered", CKGEN_RUNTIME_ABI, 0x78, units, 1};
}  // namespace offered

TEST(Declined, WhateverTierOffersIt) {
  EXPECT_EQ(tried(offered::library, 23), "near ruled default ") << "24 is the row that declines, 32 is near";
  EXPECT_EQ(tried(offered::library, 32), "near ruled default ");
  EXPECT_EQ(tried(offered::library, 24),
            "a row of the table leaves M = 24 to the caller's own kernel (rule gemm.instance.declined)");
  EXPECT_EQ(tried(offered::library, 42), "far default ");
  EXPECT_EQ(tried(offered::library, 43), "default ");
  EXPECT_EQ(tried(offered::library, 48),
            "M = 48 is left to rows of tables, and none measured it (rule gemm.instance.untuned)");
  EXPECT_EQ(tried(offered::library, 65), "M = 65 is above 64 (rule gemm.instance.max-m)");
}

// Experts, M, N and K of one kernel of ckgen's own for gate_up, down and a layer of both. At 304 CUs rows of 256 x 128
// of a gated gate_up, and of 128 x 64 of down, are the caller's; at 80 CUs none is.
namespace experts {
constexpr Signature of_part(MoePart part) {
  Signature s = tiny::fp16;
  s.op = Op::moe;
  s.moe = {part, part != MoePart::down, false};
  if (part != MoePart::down) s.epilogue.ops[0] = EpilogueOp::silu;
  return s;
}
constexpr InstanceDesc of(const char* name, std::uint64_t id, MoePart part) {
  InstanceDesc made = tiny::instance(name, id, of_part(part), {32, 64, 32}, {0, 8, 8, 0, 0, 1, false});
  made.backend = Backend::hip;
  if (part == MoePart::layer) made.parts[0] = 61, made.parts[1] = 62;
  return made;
}
constexpr InstanceDesc gate_up[] = {of("gate_up", 61, MoePart::gate_up)};
constexpr InstanceDesc down[] = {of("down", 62, MoePart::down)};
constexpr InstanceDesc layer[] = {of("layer", 63, MoePart::layer)};
constexpr ExternalKernel externals[] = {{callers_own, "theirs"}};
constexpr Rung rungs[] = {rung(1, 0)};
constexpr Group of_gate_up[] = {with_external<rungs>(group(256, 128))};
constexpr Group of_down[] = {with_external<rungs>(group(128, 64))};
constexpr auto gate_up_slots = slots_of(of_gate_up);
constexpr auto down_slots = slots_of(of_down);
constexpr LookupTable gate_up_table =
    lookup_table(Arch::gfx942, 304, tiny::policy, of_gate_up, gate_up_slots, externals);
constexpr LookupTable down_table = lookup_table(Arch::gfx942, 304, tiny::policy, of_down, down_slots, externals);
constexpr const LookupTable* gate_up_tables[] = {&gate_up_table};
constexpr const LookupTable* down_tables[] = {&down_table};
constexpr Defaults defaults[] = {{Arch::gfx942, tiny::first, 1}};
constexpr SignatureUnit units[] = {
    {"gate_up", of_part(MoePart::gate_up), gate_up, 1, gate_up_tables, 1, nullptr, 0, defaults, 1},
    {"down", of_part(MoePart::down), down, 1, down_tables, 1, nullptr, 0, defaults, 1},
    {"layer", of_part(MoePart::layer), layer, 1, nullptr, 0, nullptr, 0, defaults, 1}};
constexpr const SignatureUnit* all[] = {&units[0], &units[1], &units[2]};
constexpr Library library{"experts", CKGEN_RUNTIME_ABI, 0x76, all, 3};
}  // namespace experts

TEST(Declined, OfExpertsByTheRowsOfAProductWhateverMAndTheRouting) {
  Registry registry;
  const Status added = registry.add(experts::library);
  ASSERT_TRUE(added.ok()) << added.message;
  const Dispatcher dispatcher{registry, DispatcherOptions{}};
  const auto declined = [&](MoePart part, std::int64_t n, std::int64_t k, const char* target = "gfx942:304") {
    bool by_all = true, by_any = false;
    for (const std::int64_t m : {1, 40})
      for (const Routing routing : {Routing{8, 2}, Routing{64, 1}}) {
        const Problem problem = Problem(experts::of_part(part)).shape(m, n, k).routing(routing);
        const Selection s = dispatcher.select(problem, Device::simulated(target));
        const bool found = !s && reason(s).find("(rule moe.declined)") != std::string::npos;
        EXPECT_TRUE(s || found) << reason(s);
        by_all = by_all && found;
        by_any = by_any || found;
      }
    EXPECT_EQ(by_all, by_any);
    return by_all;
  };
  EXPECT_TRUE(declined(MoePart::gate_up, 128, 128)) << "gated: 256 rows";
  EXPECT_FALSE(declined(MoePart::gate_up, 256, 128));
  EXPECT_FALSE(declined(MoePart::gate_up, 128, 64));
  EXPECT_FALSE(declined(MoePart::gate_up, 128, 128, "gfx942:80"));
  EXPECT_TRUE(declined(MoePart::down, 128, 64));
  EXPECT_FALSE(declined(MoePart::down, 64, 64));
  EXPECT_FALSE(declined(MoePart::down, 64, 128));
  EXPECT_TRUE(declined(MoePart::layer, 128, 128)) << "by its gate_up";
  EXPECT_TRUE(declined(MoePart::layer, 64, 128)) << "by its down, of K rows";
  EXPECT_FALSE(declined(MoePart::layer, 64, 64));
  EXPECT_FALSE(declined(MoePart::layer, 128, 64));
  EXPECT_FALSE(declined(MoePart::layer, 128, 128, "gfx942:80"));
}

}  // namespace test_caller_owns
