// Each tier of docs/selection.md on the tiny library, in the order of the walk.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tiny_library.hpp"

namespace test_select {

using namespace ckgen;

class Select : public ::testing::Test {
 protected:
  Selection select(const Problem& problem) const { return dispatcher.select(problem, device); }
  std::string name(const Selection& s) const { return s ? dispatcher.registry().instance(s.instance).name : "-"; }

  Dispatcher dispatcher{tiny::registry(), DispatcherOptions{}};
  Device device = Device::simulated("gfx942:304");
};

TEST_F(Select, AnswersAMeasuredSizeExactly) {
  const Selection s = select(tiny::problem(128, 1024, 2048));
  EXPECT_EQ(s.tier, Tier::exact);
  EXPECT_EQ(name(s), "tiny_medium");
  EXPECT_EQ(s.k_batch, 2U);
  EXPECT_EQ(s.table_m, 128U);
  EXPECT_EQ(reason(s), "");
}

TEST_F(Select, AnswersEverySizeOfAStridedRung) {
  for (const int m : {16, 32, 48, 64}) EXPECT_EQ(select(tiny::problem(m, 1024, 2048)).tier, Tier::exact) << m;
}

TEST_F(Select, RoundsUpWithinTheGap) {
  const Selection s = select(tiny::problem(33, 1024, 2048));
  EXPECT_EQ(s.tier, Tier::near_);
  EXPECT_EQ(s.table_m, 48U);
}

TEST_F(Select, MBelowTheLadderRoundsUpToItsFirstRung) {
  const Selection s = select(tiny::problem(1, 1024, 2048));
  EXPECT_EQ(s.tier, Tier::near_);
  EXPECT_EQ(s.table_m, 16U);
}

TEST_F(Select, AboveTheLadderTheNearerInRatioAnswersFar) {
  const Selection s = select(tiny::problem(3000, 1024, 2048));
  EXPECT_EQ(s.tier, Tier::far_);
  EXPECT_EQ(s.table_m, 2048U);
}

TEST_F(Select, BetweenDistantRungsTheRatioDecides) {
  EXPECT_EQ(select(tiny::problem(500, 1024, 2048)).table_m, 128U);   // 128 * 2048 > 500 * 500
  EXPECT_EQ(select(tiny::problem(600, 1024, 2048)).table_m, 2048U);  // 128 * 2048 <= 600 * 600
}

TEST_F(Select, AFarRungThatIsRejectedLeavesTheOtherOne) {
  const Selection s = select(tiny::problem(600, 1024, 2048).deterministic());
  EXPECT_EQ(s.tier, Tier::far_);
  EXPECT_EQ(s.table_m, 128U);
}

TEST_F(Select, AnExternalWinnerIsNamedAndDoesNotBlock) {
  const Selection s = select(tiny::problem(96, 1024, 2048));
  EXPECT_EQ(s.tier, Tier::near_);
  EXPECT_EQ(s.table_m, 128U);
  ASSERT_NE(s.external, no_index);
  EXPECT_STREQ(dispatcher.registry().external(s.external).name, "ext_a");
  EXPECT_EQ(select(tiny::problem(128, 1024, 2048)).external, no_index);
}

TEST_F(Select, AProviderOfAnExternalKernelAnswersInItsPlace) {
  Registry registry = tiny::registry();
  constexpr InstanceDesc mine = tiny::instance("mine", 90, tiny::fp16, {16, 16, 16}, {0, 0, 0, 0, 0, 1, false});
  ASSERT_TRUE(registry.provide("asm", "ext_a", mine).ok());
  const Dispatcher with_provider{registry, DispatcherOptions{}};
  const Selection s = with_provider.select(tiny::problem(96, 1024, 2048), device);
  EXPECT_EQ(s.tier, Tier::exact);
  EXPECT_EQ(s.k_batch, 0U);
  EXPECT_STREQ(with_provider.registry().instance(s.instance).name, "mine");
  EXPECT_EQ(with_provider.select(tiny::problem(128, 1024, 2048), device).table_m, 128U);
}

TEST_F(Select, AProviderAnswersAtTheTierOfItsRung) {
  Registry registry = tiny::registry();
  constexpr InstanceDesc mine = tiny::instance("mine", 90, tiny::fp16, {16, 16, 16}, {0, 0, 0, 0, 0, 1, false});
  ASSERT_TRUE(registry.provide("flydsl", "ext_b", mine).ok());  // of M = 4096
  const Dispatcher with_provider{registry, DispatcherOptions{}};
  const auto tier = [&](std::int64_t m) { return with_provider.select(tiny::problem(m, 1024, 2048), device).tier; };
  EXPECT_EQ(tier(4096), Tier::exact);
  EXPECT_EQ(tier(3000), Tier::near_);
  EXPECT_EQ(tier(9000), Tier::far_);
}

TEST_F(Select, AnOwnRungThatIsNearerThanAnExternalOneIsTheWinner) {
  EXPECT_EQ(select(tiny::problem(100, 1024, 2048)).external, no_index);
  EXPECT_EQ(select(tiny::problem(100, 1024, 2048)).table_m, 128U);
}

TEST_F(Select, AProviderWhoseRungIsFarComesAfterTheHeuristic) {
  Registry registry = tiny::registry();
  constexpr InstanceDesc mine = tiny::instance("mine", 90, tiny::fp16, {16, 16, 16}, {0, 0, 0, 0, 0, 1, false});
  ASSERT_TRUE(registry.provide("flydsl", "ext_b", mine).ok());
  const Selection s = Dispatcher(registry, DispatcherOptions{}).select(tiny::problem(9000, 1024, 2048), device);
  EXPECT_EQ(s.tier, Tier::far_);
  EXPECT_EQ(s.table_m, 4096U);
}

TEST_F(Select, AHeuristicAnswersWhereAllItsConditionsHold) {
  const Selection s = select(tiny::problem(16, 256, 100));
  EXPECT_EQ(s.tier, Tier::heuristic);
  EXPECT_EQ(name(s), "tiny_small");
  EXPECT_EQ(select(tiny::problem(32, 256, 100)).tier, Tier::default_);  // MN = 8192 is not below 8192
}

TEST_F(Select, OtherCuTakesTheNearestCountAndRecomputesTheSplits) {
  const Selection s = select(tiny::problem(64, 512, 8192));
  EXPECT_EQ(s.tier, Tier::other_cu);
  EXPECT_EQ(name(s), "tiny_small");
  EXPECT_EQ(s.k_batch, 8U);  // 4 * 8 = 32 tiles; 2, 4, 8 splits keep within 304 CUs, and max_k_batch is 8
}

TEST_F(Select, OtherCuTiesGoToTheLargerCount) {
  const Selection s = dispatcher.select(tiny::problem(64, 512, 8192), Device::simulated("gfx942", 154));
  EXPECT_EQ(s.tier, Tier::other_cu);
  EXPECT_EQ(s.table_m, 64U);  // the table of 228; that of 80 has 16
}

TEST_F(Select, TheCheapestDefaultThatSupportsTheShapeAnswers) {
  const Selection s = select(tiny::problem(300, 300, 100));
  EXPECT_EQ(s.tier, Tier::default_);
  EXPECT_EQ(name(s), "tiny_small");
  EXPECT_EQ(name(select(tiny::problem(8192, 8192, 8192))), "tiny_atomic");
}

TEST_F(Select, ACpuUsesTheDefaultsOfTheLevelsItContains) {
  const Selection s = dispatcher.select(tiny::problem(7, 7, 7), Device::simulated("x86_64_v4_bf16", 2));
  EXPECT_EQ(s.tier, Tier::default_);
  EXPECT_EQ(name(s), "tiny_small");
}

TEST_F(Select, AnIllegalProblemSaysItsRule) {
  const auto blockscale = gemm("a8w8_blockscale").shape(128, 7168, 2050);
  EXPECT_EQ(reason(select(blockscale)), "K = 2050 is not a multiple of 128 (rule gemm.blockscale.k-group)");
  EXPECT_EQ(reason(select(tiny::problem(0, 1, 1))), "M = 0 is below 1 (rule gemm.shape.m)");
  EXPECT_EQ(reason(select(tiny::problem(std::int64_t{1} << 40, 1, 1))),
            "M = 1099511627776 is above 2147483647 (rule gemm.shape.m-max)");
}

TEST_F(Select, NothingBuiltIsAReason) {
  const std::string nothing = "no instance of this signature was built for this device (rule gemm.no-instance)";
  EXPECT_EQ(reason(select(gemm("fp32").shape(1, 1, 1))), nothing);
  EXPECT_EQ(reason(dispatcher.select(tiny::problem(1, 1, 1), Device::simulated("gfx1100"))), nothing);
  EXPECT_EQ(reason(Dispatcher(Registry(), DispatcherOptions{}).select(tiny::problem(1, 1, 1), device)), nothing);
}

TEST_F(Select, PlainFp8IsTheDevicesOwn) {
  const Problem problem = gemm("a8w8_blockscale").shape(128, 256, 256);
  EXPECT_EQ(name(select(problem)), "tiny_fnuz");
  EXPECT_EQ(name(dispatcher.select(problem, Device::simulated("gfx950"))), "tiny_ocp");
  EXPECT_FALSE(select(gemm("a8w8_blockscale:fp8_ocp").shape(128, 256, 256)));
}

TEST_F(Select, AForcedInstanceIsTakenOrRefusedAndNothingElseTried) {
  const Dispatcher forced{tiny::registry(), DispatcherOptions{false, "tiny_medium", "", ""}};
  EXPECT_EQ(forced.select(tiny::problem(16, 1024, 2048), device).tier, Tier::forced);
  EXPECT_EQ(reason(forced.select(tiny::problem(16, 1024, 100), device)),
            "K = 100 is not a multiple of 64 (rule gemm.instance.k-multiple)");
  const Dispatcher unknown{tiny::registry(), DispatcherOptions{false, "nonsense", "", ""}};
  EXPECT_FALSE(unknown.status().ok());
  EXPECT_FALSE(unknown.select(tiny::problem(16, 1024, 2048), device));
}

TEST_F(Select, NextGoesThroughTheWalkAndEnds) {
  const Problem problem = tiny::problem(128, 1024, 2048);
  std::vector<std::string> names;
  for (Selection s = select(problem); s && names.size() < 20; s = dispatcher.next(problem, device, s)) {
    names.push_back(std::string(tier_name(s.tier)) + ' ' + name(s) + ' ' + std::to_string(s.k_batch));
  }
  EXPECT_EQ(names, (std::vector<std::string>{"exact tiny_medium 2", "far tiny_small 1", "default tiny_medium 1",
                                             "default tiny_atomic 1"}));
}

TEST_F(Select, NextOfWhatTheWalkDoesNotOfferIsNothing) {
  const Problem problem = tiny::problem(128, 1024, 2048);
  const Selection first = select(problem);
  ASSERT_TRUE(dispatcher.next(problem, device, first));
  const auto next_of = [&](auto change) {
    Selection other = first;
    change(other);
    return dispatcher.next(problem, device, other);
  };
  EXPECT_FALSE(next_of([](Selection& s) { s.tier = Tier::near_; }));
  EXPECT_FALSE(next_of([](Selection& s) { s.k_batch = 4; }));
  EXPECT_FALSE(next_of([](Selection& s) { s.table_m = 64; }));
  EXPECT_FALSE(next_of([](Selection& s) { s.instance = 2; }));
}

// One instance, measured in two splits at M = 64 and in one at M = 128; it is the default as well.
namespace alone {
constexpr InstanceDesc instances[] = {tiny::instance("only", 37, tiny::fp16, {64, 64, 32}, {0, 0, 0, 0, 0, 2, false})};
constexpr Rung rungs[] = {describe::rung(64, 0, describe::k_batch(2)), describe::rung(128, 0)};
constexpr Group groups[] = {describe::ladder<rungs>(512, 1024)};
constexpr auto slots = describe::slots_of(groups);
constexpr LookupTable table = describe::lookup_table(Arch::gfx942, 304, tiny::policy, groups, slots);
constexpr const LookupTable* tables[] = {&table};
constexpr Defaults defaults[] = {{Arch::gfx942, tiny::first, 1}};
constexpr SignatureUnit unit{"gemm_fp16_rcr", tiny::fp16, instances, 1, tables, 1, nullptr, 0, defaults, 1};
constexpr const SignatureUnit* units[] = {&unit};
constexpr Library library{"alone", CKGEN_RUNTIME_ABI, 0x79, units, 1};
}  // namespace alone

TEST(Next, TheSameInstanceWithOtherSplitsIsAnotherAnswer) {
  Registry registry;
  ASSERT_TRUE(registry.add(alone::library).ok());
  const Dispatcher dispatcher{registry, DispatcherOptions{}};
  const auto tried = [&](std::int64_t m) {
    const Problem problem = tiny::problem(m, 512, 1024);
    const Device device = Device::simulated("gfx942:304");
    std::vector<std::string> found;
    for (Selection s = dispatcher.select(problem, device); s && found.size() < 9;
         s = dispatcher.next(problem, device, s))
      found.push_back(std::string(tier_name(s.tier)) + ' ' + std::to_string(s.k_batch));
    return found;
  };
  using Answers = std::vector<std::string>;
  EXPECT_EQ(tried(64), (Answers{"exact 2", "default 1"}));
  EXPECT_EQ(tried(128), (Answers{"exact 1", "far 2", "default 1"}));
  EXPECT_EQ(tried(1), (Answers{"far 2", "default 1"}));
}

// Defaults of which tiles of 64x64 are the cheapest for one such tile; one takes an even N alone.
namespace alike {
constexpr InstanceDesc of(const char* name, std::uint64_t id, std::int32_t n, std::int32_t n_multiple = 0) {
  return tiny::instance(name, id, tiny::fp16, {64, n, 32}, {0, n_multiple, 0, 0, 0, 1, false});
}
constexpr InstanceDesc instances[] = {of("wide", 31, 128),   of("first", 32, 64),    of("second", 33, 64),
                                      of("even", 34, 96, 2), of("as wide", 35, 128), of("third", 36, 64)};
constexpr std::uint16_t in_order[] = {0, 1, 2, 3, 4, 5};
constexpr std::uint16_t of_v4[] = {3};
constexpr Defaults defaults[] = {
    {Arch::gfx942, in_order, 6}, {Arch::x86_64_v3, in_order, 3}, {Arch::x86_64_v4, of_v4, 1}};
constexpr SignatureUnit unit{"gemm_fp16_rcr", tiny::fp16, instances, 6, nullptr, 0, nullptr, 0, defaults, 3};
constexpr const SignatureUnit* units[] = {&unit};
constexpr Library library{"alike", CKGEN_RUNTIME_ABI, 0x78, units, 1};
}  // namespace alike

TEST(DefaultsInOrder, ComeByCostAndOfEqualOnesAsTheyAreListed) {
  Registry registry;
  ASSERT_TRUE(registry.add(alike::library).ok());
  const Dispatcher dispatcher{registry, DispatcherOptions{}};
  const auto order = [&](std::int64_t n, const Device& device) {
    const Problem problem = tiny::problem(64, n, 32);
    std::vector<std::string> names;
    for (Selection s = dispatcher.select(problem, device); s && names.size() < 9;
         s = dispatcher.next(problem, device, s))
      names.emplace_back(registry.instance(s.instance).name);
    return names;
  };
  using Names = std::vector<std::string>;
  const Device gpu = Device::simulated("gfx942");
  EXPECT_EQ(order(64, gpu), (Names{"first", "second", "third", "even", "wide", "as wide"}));
  EXPECT_EQ(order(63, gpu), (Names{"first", "second", "third", "wide", "as wide"}));
  EXPECT_EQ(order(64, Device::simulated("x86_64_v3", 1)), (Names{"first", "second", "wide"}));
  EXPECT_EQ(order(64, Device::simulated("x86_64_v4_bf16", 1)), Names{"even"}) << "no list of a lower level beside it";
}

TEST_F(Select, AUsersInstanceOfALowerLevelRunsOnAHigherOne) {
  Registry registry;
  ASSERT_TRUE(registry
                  .add(tiny::instance("mine", 90, tiny::fp16, {16, 16, 16}, {0, 0, 0, 0, 0, 1, false},
                                      tiny::bit(Arch::x86_64_v4)))
                  .ok());
  const Dispatcher own{registry, DispatcherOptions{}};
  EXPECT_TRUE(own.select(tiny::problem(7, 7, 7), Device::simulated("x86_64_v4_bf16", 2)));
  EXPECT_TRUE(own.select(tiny::problem(7, 7, 7), Device::simulated("x86_64_v4", 2)));
  EXPECT_FALSE(own.select(tiny::problem(7, 7, 7), Device::simulated("x86_64_v3", 2)));
}

TEST_F(Select, EnumerateListsWhatSupportsTheProblem) {
  std::vector<std::uint32_t> found;
  const auto keep = [](void* context, const Selection& s) {
    static_cast<std::vector<std::uint32_t>*>(context)->push_back(s.instance);
    return true;
  };
  dispatcher.enumerate(tiny::problem(7, 7, 64), device, keep, &found);
  EXPECT_EQ(found, (std::vector<std::uint32_t>{0, 1}));
}

TEST_F(Select, ExplainShowsTheTrail) {
  const std::string text = dispatcher.explain(tiny::problem(600, 1024, 2048).deterministic(), device);
  EXPECT_NE(text.find("gemm fp16 fp16·fp16→fp16 rcr  M=600 N=1024 K=2048 deterministic  on gfx942:304 (simulated)"),
            std::string::npos);
  EXPECT_NE(text.find("no row for M=600 (ladder …, 64, 128, 2048 of 6; external 96, 4096 of 2)"), std::string::npos)
      << text;
  EXPECT_NE(text.find("far        ✘ M=2048 → tiny_atomic   k_batch 4"), std::string::npos) << text;
  EXPECT_NE(text.find("(rule gemm.instance.atomic-split)"), std::string::npos) << text;
  EXPECT_NE(text.find("far        ✔ M=128 → tiny_medium   k_batch 2"), std::string::npos) << text;
  EXPECT_NE(text.find("not tried    other_cu, default"), std::string::npos) << text;
}

struct Field {
  const char* name;
  Signature other;
};

class EachField : public ::testing::TestWithParam<Field> {};

/// A unit whose signature differs from the problem's in one field only never answers.
TEST_P(EachField, TakesPartInMatching) {
  const Signature& other = GetParam().other;
  ASSERT_NE(other.pack(), tiny::fp16.pack());
  const InstanceDesc built[] = {tiny::instance("other", 7, other, {16, 16, 16}, {0, 0, 0, 0, 0, 1, false})};
  const Defaults defaults[] = {{Arch::gfx942, tiny::first, 1}};
  const SignatureUnit unit{"other", other, built, 1, nullptr, 0, nullptr, 0, defaults, 1};
  const SignatureUnit* units[] = {&unit};
  const Library library{"other", CKGEN_RUNTIME_ABI, 1, units, 1};
  Registry registry;
  ASSERT_TRUE(registry.add(library).ok());
  const Dispatcher dispatcher{registry, DispatcherOptions{}};
  const Device device = Device::simulated("gfx942");
  EXPECT_FALSE(dispatcher.select(tiny::problem(256, 256, 256), device));
  EXPECT_TRUE(dispatcher.select(Problem(other).shape(256, 256, 256).routing({8, 2}), device));
}

Signature with(void (*change)(Signature&)) {
  Signature signature = tiny::fp16;
  change(signature);
  return signature;
}

INSTANTIATE_TEST_SUITE_P(Signature, EachField,
                         ::testing::Values(Field{"op", with([](Signature& s) { s.op = Op::moe; })},
                                           Field{"a", with([](Signature& s) { s.a = DType::bf16; })},
                                           Field{"b", with([](Signature& s) { s.b = DType::bf16; })},
                                           Field{"c", with([](Signature& s) { s.c = DType::fp32; })},
                                           Field{"acc", with([](Signature& s) { s.acc = DType::fp16; })},
                                           Field{"scale", with([](Signature& s) { s.scale = DType::fp32; })},
                                           Field{"layout", with([](Signature& s) { s.layout = Layout::rrr; })},
                                           Field{"quant", with([](Signature& s) { s.quant = Quant::rowwise; })},
                                           Field{"preshuffle_b", with([](Signature& s) { s.preshuffle_b = true; })},
                                           Field{"batched", with([](Signature& s) { s.batched = true; })},
                                           Field{"bias", with([](Signature& s) { s.bias = true; })}),
                         [](const auto& field) { return std::string(field.param.name); });

}  // namespace test_select
