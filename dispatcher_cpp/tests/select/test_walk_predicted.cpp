// Instances by predicted clocks: behind rows at and near the sizes, in front of rows of other sizes and of defaults.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tiny_library.hpp"

namespace test_walk_predicted {

using namespace ckgen;

// By the plain cost "square" is the cheapest default for one tile of 64x64; predicted, what waits the least is. No list
// of defaults has "tabled".
namespace timed {
enum : std::uint16_t { kSquare, kWide, kWider, kTabled };
constexpr InstanceDesc of(const char* name, std::uint64_t id, std::int32_t n, std::int32_t k_multiple = 0) {
  return tiny::instance(name, id, tiny::fp16, {64, n, 32}, {0, 0, k_multiple, 0, 0, 1, false});
}
constexpr InstanceDesc instances[] = {of("square", 41, 64), of("wide", 42, 128, 512), of("wider", 43, 256),
                                      of("tabled", 44, 512)};
constexpr KernelWork waits(std::uint32_t instance, std::uint32_t n, std::uint32_t latency, std::uint32_t launch = 0) {
  return {instance, 64, n,      32,   1,  1024, 2, 1000, 100, 500, 100, latency,
          10,       10, launch, 4096, 64, 512,  0, 0,    16,  16,  16};
}
constexpr std::uint16_t in_order[] = {kSquare, kWide, kWider};
constexpr Defaults defaults[] = {describe::defaults_on(Arch::gfx942, in_order),
                                 describe::defaults_on(Arch::gfx950, in_order)};
constexpr KernelWork works[] = {waits(kSquare, 64, 90'000), waits(kWide, 128, 20'000), waits(kWider, 256, 20'000),
                                waits(kTabled, 512, 20'000, 1)};
constexpr Predicted predicted[] = {describe::predicted_on(Arch::gfx942, works)};
// One rung, far from M = 64.
constexpr Rung rungs[] = {describe::rung(4096, kSquare)};
constexpr Group groups[] = {describe::ladder<rungs>(64, 512)};
constexpr auto slots = describe::slots_of(groups);
constexpr LookupTable table = describe::lookup_table(Arch::gfx942, 304, tiny::policy, groups, slots);
constexpr LookupTable table950 = describe::lookup_table(Arch::gfx950, 256, tiny::policy, groups, slots);
constexpr const LookupTable* tables[] = {&table, &table950};
constexpr SignatureUnit unit = describe::unit_of("gemm_fp16_rcr", tiny::fp16)
                                   .instances(instances)
                                   .tables(tables)
                                   .defaults(defaults)
                                   .predicted(predicted);
constexpr const SignatureUnit* units[] = {&unit};
constexpr Library library{"timed", CKGEN_RUNTIME_ABI, 0x79, units, 1};
}  // namespace timed

struct Found {
  std::string name;
  Tier tier;
  bool operator==(const Found& other) const { return name == other.name && tier == other.tier; }
};
void PrintTo(const Found& found, std::ostream* out) {
  *out << found.name << ' ' << tier_name(found.tier);
}
using Order = std::vector<Found>;

Order order(const Registry& registry, const char* arch, int m = 64, int k = 512) {
  const Dispatcher dispatcher{registry, DispatcherOptions{}};
  const Problem problem = tiny::problem(m, 64, k);
  const Device device = Device::simulated(arch);
  Order found;
  for (Selection s = dispatcher.select(problem, device); s && found.size() < 12;
       s = dispatcher.next(problem, device, s))
    found.push_back({registry.instance(s.instance).name, s.tier});
  return found;
}

TEST(WalkPredicted, AllInstancesComeByPredictedClocksAndOfEqualOnesAsTheyAreListed) {
  Registry registry;
  ASSERT_TRUE(registry.add(timed::library).ok());
  Order first = order(registry, "gfx942");
  ASSERT_GE(first.size(), 4U);
  first.resize(4);
  EXPECT_EQ(first, (Order{{"wide", Tier::predicted},
                          {"wider", Tier::predicted},
                          {"tabled", Tier::predicted},
                          {"square", Tier::predicted}}));
  const Dispatcher dispatcher{registry, DispatcherOptions{}};
  EXPECT_NE(dispatcher.explain(tiny::problem(64, 64, 512), Device::simulated("gfx942"))
                .find("not tried    far, other_cu, default"),
            std::string::npos);
}

TEST(WalkPredicted, AnArchWithoutWorksHasRowsOfOtherSizesAndDefaultsByThePlainCost) {
  Registry registry;
  ASSERT_TRUE(registry.add(timed::library).ok());
  EXPECT_EQ(order(registry, "gfx950"),
            (Order{{"square", Tier::far_}, {"wide", Tier::default_}, {"wider", Tier::default_}}));
  const Dispatcher dispatcher{registry, DispatcherOptions{}};
  EXPECT_NE(dispatcher.explain(tiny::problem(64, 64, 512), Device::simulated("gfx950"))
                .find("predicted    no predicted times on gfx950"),
            std::string::npos);
}

TEST(WalkPredicted, AMeasuredSizeComesFirst) {
  Registry registry;
  ASSERT_TRUE(registry.add(timed::library).ok());
  const Order found = order(registry, "gfx942", 4096);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0], (Found{"square", Tier::exact}));
}

TEST(WalkPredicted, WhatRefusesTheProblemIsLeftOut) {
  Registry registry;
  ASSERT_TRUE(registry.add(timed::library).ok());
  const Order found = order(registry, "gfx942", 64, 544);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0], (Found{"wider", Tier::predicted})) << "wide asks for K in 512";
}

TEST(WalkPredicted, BesideAUsersInstanceWhichHasNoneDefaultsAnswerByThePlainCost) {
  Registry registry;
  ASSERT_TRUE(registry.add(timed::library).ok());
  ASSERT_TRUE(
      registry
          .add(tiny::instance("mine", 91, tiny::fp16, {32, 32, 32}, {0, 0, 0, 0, 0, 1, false}, tiny::bit(Arch::gfx942)))
          .ok());
  EXPECT_EQ(order(registry, "gfx942"), (Order{{"square", Tier::far_},
                                              {"mine", Tier::default_},
                                              {"square", Tier::default_},
                                              {"wide", Tier::default_},
                                              {"wider", Tier::default_}}));
}

bool takes(const KernelWork& work) {
  const KernelWork works[] = {timed::works[0], work};
  const Predicted predicted[] = {describe::predicted_on(Arch::gfx942, works)};
  const SignatureUnit unit =
      describe::unit_of("gemm_fp16_rcr", tiny::fp16).instances(timed::instances).predicted(predicted);
  const SignatureUnit* const units[] = {&unit};
  const Library library{"asked", CKGEN_RUNTIME_ABI, 0x7a, units, 1};
  Registry registry;
  return registry.add(library).ok();
}

TEST(WalkPredicted, AWorkWithoutATileOrOutsideTheInstancesIsRefused) {
  EXPECT_TRUE(takes(timed::works[1]));
  EXPECT_FALSE(takes(KernelWork{}));
  KernelWork alone = timed::works[1];
  alone.cluster = 0;
  EXPECT_FALSE(takes(alone));
  EXPECT_FALSE(takes(timed::waits(4, 64, 1)));
}

}  // namespace test_walk_predicted
