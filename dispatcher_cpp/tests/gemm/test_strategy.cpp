// Strategies: plain and stream-K instances of one signature in one registry, and what a problem may ask of them.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tiny_library.hpp"

namespace test_strategy {

using namespace ckgen;

constexpr Signature kFp32{};

constexpr InstanceDesc of(const char* name, std::uint64_t id, Strategy strategy, std::int32_t blocks_per_cu = 1) {
  InstanceDesc d = tiny::instance(name, id, kFp32, {128, 128, 32}, {0, 0, 0, 0, 0, 1, false});
  if (strategy == Strategy::data_parallel) d.constraints.max_k_batch = 4;
  d.stream_k = {strategy, blocks_per_cu};
  return d;
}

class Strategies : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const InstanceDesc& d : {of("plain", 1, Strategy::data_parallel), of("atomic", 2, Strategy::atomic),
                                  of("linear", 3, Strategy::linear), of("tree", 4, Strategy::tree)})
      ASSERT_TRUE(registry.add(d).ok());
    dispatcher = Dispatcher(registry, DispatcherOptions{});
  }
  std::string chosen(const Problem& problem, const Device& device) const {
    const Selection selection = dispatcher.select(problem, device);
    return selection ? registry.instance(selection.instance).name : reason(selection);
  }
  Registry registry;
  Dispatcher dispatcher{Registry(), DispatcherOptions{}};
  const Device big = Device::simulated("gfx942:304"), small = Device::simulated("gfx942:80");
};

Problem cube(std::int64_t size) {
  return Problem(kFp32).shape(size, size, size);
}

TEST_F(Strategies, AWishIsGrantedOrRefusedWithItsReason) {
  const Problem enough = cube(1024);
  EXPECT_EQ(chosen(Problem(enough).strategy(Strategy::data_parallel), big), "plain");
  EXPECT_EQ(chosen(Problem(enough).strategy(Strategy::atomic), big), "atomic");
  EXPECT_EQ(chosen(Problem(enough).strategy(Strategy::linear), big), "linear");
  EXPECT_EQ(chosen(Problem(enough).strategy(Strategy::tree), big), "tree");
  for (const Strategy wish : {Strategy::atomic, Strategy::linear, Strategy::tree}) {
    EXPECT_EQ(chosen(cube(257).strategy(wish), big),
              "too few tiles: their 81 iterations of K are fewer than the 304 workgroups (rule "
              "gemm.stream_k.too-few-tiles)");
    EXPECT_EQ(chosen(cube(257).strategy(wish), small), name(wish));
  }
  EXPECT_EQ(chosen(cube(257), big), "plain");
}

TEST_F(Strategies, WhatIsForcedHasNoCostWhereItIsRefused) {
  const Dispatcher forced(registry, DispatcherOptions{false, "linear", "", ""});
  EXPECT_EQ(reason(forced.select(cube(1), big)),
            "too few tiles: their 1 iterations of K are fewer than the 304 workgroups (rule "
            "gemm.stream_k.too-few-tiles)");
  EXPECT_EQ(forced.select(cube(1024), big).tier, Tier::forced);
}

TEST_F(Strategies, ADeterministicResultIsNotAddedAtomically) {
  EXPECT_EQ(
      chosen(cube(1024).strategy(Strategy::atomic).deterministic(), big),
      "304 workgroups add their parts of a tile in no fixed order, and a deterministic result was asked for (rule "
      "gemm.stream_k.atomic)");
  EXPECT_EQ(chosen(cube(1024).strategy(Strategy::linear).deterministic(), big), "linear");
  EXPECT_EQ(chosen(cube(1024).strategy(Strategy::tree).deterministic(), big), "tree");
}

TEST_F(Strategies, AnyTakesTheCheapest) {
  EXPECT_EQ(chosen(Problem(kFp32).shape(128 * 16, 128 * 19, 1 << 13), big), "plain");  // one tile for each unit
  // one tile and a long K: many workgroups beat one, and a tree of many parts beats their chain
  EXPECT_EQ(chosen(Problem(kFp32).shape(128, 128, 1 << 20), big), "tree");
  // 1.5 waves at 80 units: parts of two
  EXPECT_EQ(chosen(Problem(kFp32).shape(128 * 12, 128 * 10, 1 << 16), small), "linear");
}

TEST_F(Strategies, WithoutAnInstanceOfTheStrategyTheReasonSaysSo) {
  Registry plain;
  ASSERT_TRUE(plain.add(of("plain", 1, Strategy::data_parallel)).ok());
  const Selection selection = Dispatcher(plain, DispatcherOptions{}).select(cube(1024).strategy(Strategy::tree), big);
  EXPECT_EQ(reason(selection),
            "the instance's strategy is 1 and 4 was asked for (1 data_parallel, 2 atomic, 3 linear, 4 tree) (rule "
            "gemm.stream_k.strategy)");
}

TEST_F(Strategies, PlansKnowTheDevicesWorkgroups) {
  const Problem problem = cube(1000).strategy(Strategy::linear);
  const auto on_big = dispatcher.plan(problem, big), on_small = dispatcher.plan(problem, small);
  ASSERT_TRUE(on_big && on_small);
  ASSERT_EQ(on_big->stage_count, 1U);  // twins need no reset
  EXPECT_EQ(on_big->stages[0].kind, StageKind::kernel);
  EXPECT_EQ(on_big->stages[0].workgroups, 304U);
  EXPECT_EQ(on_small->stages[0].workgroups, 80U);
  EXPECT_GT(on_big->workspace_size, on_small->workspace_size);
  EXPECT_EQ(dispatcher.plan(cube(1000).strategy(Strategy::data_parallel), big)->stages[0].workgroups, 0U);
}

TEST_F(Strategies, ATwinOfEachRunsOnWhatThePlanAsksFor) {
  const std::int64_t m = 130, n = 129, k = 650;  // small integers: every order of additions gives the same sum
  std::vector<float> a(static_cast<std::size_t>(m * k)), b(static_cast<std::size_t>(n * k));
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 5) - 2.0F;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 7) - 3.0F;
  std::vector<std::vector<float>> results;
  for (const Strategy wish : {Strategy::data_parallel, Strategy::atomic, Strategy::linear, Strategy::tree}) {
    std::vector<float>& c = results.emplace_back(static_cast<std::size_t>(m * n), -1.0F);
    const auto plan = dispatcher.plan(Problem(kFp32).shape(m, n, k).strategy(wish), Device::simulated("gfx942:80"));
    ASSERT_TRUE(plan) << plan.status().message;
    GemmArgs args{};
    args.a = a.data();
    args.b = b.data();
    args.c = c.data();
    args.m = m;
    args.n = n;
    args.k = k;
    args.batch = 1;
    args.lda = args.ldb = k;
    args.ldc = n;
    const Status status = dispatcher.run(*plan, args, nullptr);
    ASSERT_TRUE(status.ok()) << status.message;
    EXPECT_EQ(c, results.front()) << name(wish);
  }
}

TEST_F(Strategies, ExplainShowsTheShares) {
  const std::string text = dispatcher.explain(cube(1024).strategy(Strategy::linear), big);
  EXPECT_NE(text.find(" strategy linear  on gfx942:304"), std::string::npos) << text;
  EXPECT_NE(text.find("stream-K linear: 64 tiles of 32 iterations of K on 304 workgroups"), std::string::npos) << text;
  EXPECT_NE(text.find("(rule gemm.stream_k.strategy)"), std::string::npos) << text;
}

TEST_F(Strategies, MalformedInstancesAreRefused) {
  InstanceDesc wrong = of("wrong", 9, Strategy::linear);
  wrong.constraints.max_k_batch = 2;
  EXPECT_STREQ(registry.add(wrong).message, "instance wrong: stream-K takes no k_batch");
  EXPECT_STREQ(registry.add(of("wrong", 9, Strategy::any)).message,
               "instance wrong: its strategy or blocks per CU are out of range");
  EXPECT_FALSE(registry.add(of("wrong", 9, Strategy::tree, 0)).ok());
}

TEST(StreamKWorkgroups, FollowTheDeviceOrTheThreads) {
  InstanceDesc gpu = of("gpu", 1, Strategy::tree, 2);
  EXPECT_EQ(stream_k_workgroups(gpu, 80), 160U);
  gpu.host_config.threads = 3;
  EXPECT_EQ(stream_k_workgroups(gpu, 80), 3U);
  EXPECT_EQ(stream_k_workgroups(of("plain", 2, Strategy::data_parallel), 80), 0U);
}

}  // namespace test_strategy
