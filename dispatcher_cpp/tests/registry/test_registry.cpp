// What a registry takes and what it refuses.
#include <gtest/gtest.h>

#include <string>

#include "tiny_library.hpp"

namespace test_registry {

using namespace ckgen;

constexpr InstanceDesc kMine = tiny::instance("mine", 77, tiny::fp16, {16, 16, 16}, {0, 0, 0, 0, 0, 1, false});

bool contains(const Status& status, const std::string& text) {
  return std::string(status.message).find(text) != std::string::npos;
}

TEST(RegistryTest, NumbersInstancesInTheOrderOfRegistration) {
  const Registry registry = tiny::registry();
  ASSERT_EQ(registry.size(), 5U);
  EXPECT_STREQ(registry.instance(1).name, "tiny_medium");
  EXPECT_EQ(registry.find("tiny_ocp"), 4U);
  EXPECT_EQ(registry.find_id(4), 3U);
  EXPECT_EQ(registry.find("nonsense"), no_index);
  EXPECT_EQ(registry.find_id(999), no_index);
  EXPECT_EQ(registry.external_count(), 2U);
}

TEST(RegistryTest, RefusesAnotherAbi) {
  Library old = tiny::library;
  old.abi = CKGEN_RUNTIME_ABI + 1;
  Registry registry;
  const Status status = registry.add(old);
  EXPECT_EQ(status.code, StatusCode::unsupported);
  EXPECT_TRUE(contains(status, "generated for runtime ABI " + std::to_string(old.abi) + ", this is " +
                                   std::to_string(CKGEN_RUNTIME_ABI)));
  EXPECT_EQ(registry.size(), 0U);
}

TEST(RegistryTest, RefusesASecondInstanceOfOneName) {
  Registry registry = tiny::registry();
  EXPECT_TRUE(contains(registry.add(tiny::library), "an instance named tiny_small is registered already"));
  EXPECT_EQ(registry.size(), 5U);
  ASSERT_TRUE(registry.add(kMine).ok());
  EXPECT_TRUE(contains(registry.add(kMine), "mine is registered already"));
}

TEST(RegistryTest, RefusesInstancesThatCannotBeChosen) {
  Registry registry;
  InstanceDesc bad = kMine;
  bad.name = nullptr;
  EXPECT_FALSE(registry.add(bad).ok());
  bad = kMine;
  bad.archs = 0;
  EXPECT_TRUE(contains(registry.add(bad), "runs on no arch"));
  bad = kMine;
  bad.constraints.max_k_batch = 0;
  EXPECT_TRUE(contains(registry.add(bad), "max_k_batch"));
  bad = kMine;
  bad.macro_tile = {};
  EXPECT_TRUE(contains(registry.add(bad), "macro tile"));
}

TEST(RegistryTest, RefusesTablesThatPointOutside) {
  SignatureUnit unit = tiny::unit;
  unit.instance_count = 1;
  const SignatureUnit* units[] = {&unit};
  Registry registry;
  EXPECT_TRUE(
      contains(registry.add(Library{"broken", CKGEN_RUNTIME_ABI, 0, units, 1}), "points outside the instances"));

  LookupTable table = tiny::table304;
  table.external_count = 1;
  const LookupTable* tables[] = {&table};
  unit = tiny::unit;
  unit.tables = tables;
  unit.table_count = 1;
  EXPECT_TRUE(
      contains(registry.add(Library{"broken", CKGEN_RUNTIME_ABI, 0, units, 1}), "points outside the externals"));
}

TEST(RegistryTest, ProvidersNeedAKernelThatATableNames) {
  Registry registry = tiny::registry();
  EXPECT_TRUE(
      contains(registry.provide("asm", "nonsense", kMine), "no registered table names kernel nonsense of library asm"));
  ASSERT_TRUE(registry.provide("asm", "ext_a", kMine).ok());
  EXPECT_EQ(registry.provider(0), 5U);
  InstanceDesc again = kMine;
  again.name = "again";
  again.id = 78;
  EXPECT_TRUE(contains(registry.provide("asm", "ext_a", again), "provided by mine already"));
  EXPECT_EQ(registry.find("again"), no_index);
}

TEST(RegistryTest, ADispatcherKeepsItsSnapshot) {
  Registry registry = tiny::registry();
  const Dispatcher before{registry, DispatcherOptions{}};
  ASSERT_TRUE(registry.add(kMine).ok());
  EXPECT_EQ(before.registry().size(), 5U);
  EXPECT_EQ(Dispatcher(registry, DispatcherOptions{}).registry().size(), 6U);
}

TEST(RegistryTest, TwoRegistriesAreApart) {
  Registry one;
  Registry two = tiny::registry();
  ASSERT_TRUE(one.add(kMine).ok());
  EXPECT_EQ(one.size(), 1U);
  EXPECT_EQ(two.find("mine"), no_index);
}

TEST(RegistryTest, AUsersInstanceIsTheLastDefault) {
  Registry registry;
  ASSERT_TRUE(registry.add(kMine).ok());
  const Dispatcher dispatcher{registry, DispatcherOptions{}};
  const Selection s = dispatcher.select(tiny::problem(5, 6, 7), Device::simulated("gfx942"));
  EXPECT_EQ(s.tier, Tier::default_);
  EXPECT_EQ(s.instance, 0U);
  EXPECT_FALSE(dispatcher.select(tiny::problem(5, 6, 7), Device::simulated("gfx1100")));
}

TEST(RegistryTest, TakesGpuCodeWhereItCanBeUnpacked) {
  Registry registry = tiny::registry();
  const Status status = registry.attach(DeviceLibrary{"gpu", CKGEN_RUNTIME_ABI, nullptr, 0});
#if CKGEN_HAS_ZLIB
  EXPECT_TRUE(status.ok()) << status.message;
#else
  EXPECT_EQ(status.code, StatusCode::unsupported);
  EXPECT_TRUE(contains(status, "device library gpu: ckgen was built without zlib"));
#endif
}

}  // namespace test_registry
