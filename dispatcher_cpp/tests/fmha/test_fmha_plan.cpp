// Attention planned and run: stages, workspace, what the kernel is given.
#include <cstring>
#include <thread>
#include <vector>

#include "counted_new.hpp"
#include "fmha/fmha_fixture.hpp"
#include "guarded_memory.hpp"

namespace test_fmha_plan {

using namespace ckgen;
using tiny::attention;
using tiny::padded;
using tiny::sizes;

/// Writes every byte of the workspace that its plan asked for.
Status fill_workspace(const Launch& launch) noexcept {
  const std::size_t bytes = launch.instance->workspace(*launch.instance, *launch.problem, launch.k_batch, 0);
  std::memset(launch.workspace, 0x5a, bytes);
  return tiny::keep_fmha(launch);
}

class FmhaPlan : public tiny::FmhaTest {
 protected:
  /// Memory for Q, K, V and O of the shape of `small()`, which takes them without gaps.
  FmhaArgs args() {
    FmhaArgs x;
    x.q = x.k = x.v = x.o = memory.data();
    x.q_strides = x.k_strides = x.v_strides = x.o_strides = {16, 16 * 8, 16 * 8 * 4};
    x.scale = 0.25F;
    return x;
  }
  static FmhaShape small() { return sizes(2, 4, 4, 8, 8, 16, 16); }
  static Problem problem(const FmhaShape& shape) { return Problem(attention()).fmha(shape); }

  std::vector<char> memory = std::vector<char>(4096);
};

TEST_F(FmhaPlan, IsOneKernelOfItsInstance) {
  add("one", padded(64, 64, 128, 128));
  const Dispatcher own = dispatcher();
  FmhaShape x = small();
  x.window_left = 3;
  const auto plan = own.plan(problem(x).deterministic(), device);
  ASSERT_TRUE(plan) << plan.status().message;
  EXPECT_TRUE(plan->launchable.ok());
  EXPECT_EQ(plan->stage_count, 1U);
  EXPECT_EQ(plan->stages[0].kind, StageKind::kernel);
  EXPECT_EQ(plan->stages[0].k_batch, 1U);
  EXPECT_EQ(plan->workspace_size, 0U);
  EXPECT_EQ(plan->problem.fmha().window_left, 3);
  EXPECT_EQ(plan->problem.fmha().heads_k, 4);
  EXPECT_TRUE(plan->problem.deterministic());
  const FmhaArgs given = args();
  const Status status = own.run(*plan, given, nullptr, nullptr);
  ASSERT_TRUE(status.ok()) << status.message;
  EXPECT_EQ(seen.args, &given);
  EXPECT_EQ(seen.splits, 1U);
  EXPECT_EQ(seen.shape.seqlen_k, 8);
  EXPECT_TRUE(own.bench(*plan, given, {1, 2}));
  EXPECT_EQ(seen.launches, 4);
}

TEST_F(FmhaPlan, ArgumentsOfAnotherOpAreRefused) {
  add("one", padded(64, 64, 128, 128));
  ASSERT_TRUE(registry.add(tiny::instance("gemm", 90, tiny::fp16, {16, 16, 16}, {0, 0, 0, 0, 0, 1, false})).ok());
  const Dispatcher own = dispatcher();
  const auto plan = own.plan(problem(small()), device);
  const auto gemm = own.plan(tiny::problem(8, 8, 8), device);
  ASSERT_TRUE(plan && gemm);
  for (const Status& status : {own.run(*plan, GemmArgs{}, nullptr), own.run(*plan, GroupedArgs{}, nullptr),
                               own.run(*plan, MoeArgs{}, nullptr), own.run(*gemm, args(), nullptr)})
    EXPECT_NE(std::string(status.message).find("it takes other arguments"), std::string::npos) << status.message;
  EXPECT_EQ(seen.launches, 0);
}

TEST_F(FmhaPlan, ManyKeysInFewPagesAndManyScoresAreCountedIn64Bits) {
  InstanceDesc desc = described("scores", padded(64, 64, 128, 128), attention());
  desc.workspace = tiny::score_bytes;
  desc.fmha.max_splits = 8;
  add(desc);
  const Dispatcher own = dispatcher();
  const Problem large = problem(sizes(1, 32, 8, 8192, 8192, 128, 128));
  const auto plan = own.plan(large, device);
  ASSERT_TRUE(plan) << plan.status().message;
  EXPECT_EQ(plan->workspace_size, 32ULL * 8192 * 8192 * 4) << "8 GiB";
  Selection split = plan->selection;
  split.k_batch = 8;
  const auto parts = own.plan(large, device, split);
  ASSERT_TRUE(parts) << parts.status().message;
  EXPECT_EQ(parts->workspace_size, 8 * plan->workspace_size);
  EXPECT_EQ(parts->selection.k_batch, 8U);
  EXPECT_STREQ(own.run(*plan, args(), nullptr, nullptr).message, "the row stride of Q = 16 is below 128")
      << "checked before any workspace is asked for";
}

TEST_F(FmhaPlan, CachesBeyondEightMillionPagesArePlanned) {
  FmhaTraits traits;
  traits.kv = FmhaKv::block_table;
  add("paged", padded(64, 64, 128, 128), attention(traits));
  FmhaShape x = sizes(64, 32, 8, 1, 131072, 128, 128);
  x.page_size = 16;
  x.pages = 9'000'000;
  const auto plan = dispatcher().plan(Problem(attention(traits)).fmha(x), device);
  ASSERT_TRUE(plan) << plan.status().message;
  EXPECT_EQ(plan->problem.fmha().pages, 9'000'000);
  x.pages = 2147483647;
  x.page_size = 2048;
  x.heads_q = x.heads_k = 65535;
  EXPECT_STREQ(dispatcher().plan(Problem(attention(traits)).fmha(x), device).status().message,
               "K has more bits than 64-bit integers count");
}

TEST_F(FmhaPlan, WhatSixtyFourBitsDoNotCountIsRefused) {
  FmhaTraits biased;
  biased.bias = FmhaBias::elementwise;
  FmhaTraits dropped;
  dropped.dropout = FmhaDropout::randval;
  for (const FmhaTraits& traits : {FmhaTraits{}, biased, dropped})
    add(tiny::numbered("x", attention(traits).pack()), padded(64, 64, 128, 128), attention(traits));
  constexpr std::int64_t most = 2147483647;
  const auto refusal = [&](const FmhaTraits& traits, const FmhaShape& x) {
    return std::string(dispatcher().plan(Problem(attention(traits)).fmha(x), device).status().message);
  };
  EXPECT_EQ(refusal({}, sizes(most, 1, 1, 1 << 20, 1, 128, 128)), "");
  EXPECT_EQ(refusal({}, sizes(most, 64, 1, most, 1, 128, 128)), "Q has more bits than 64-bit integers count");
  EXPECT_EQ(refusal({}, sizes(most, 64, 64, 1, most, 128, 128)), "K has more bits than 64-bit integers count");
  EXPECT_EQ(refusal({}, sizes(1, 1, 1, most, most, 128, 128)), "");
  EXPECT_EQ(refusal(biased, sizes(4, 1, 1, most, most, 128, 128)), "bias has more bits than 64-bit integers count");
  EXPECT_EQ(refusal(dropped, sizes(4, 1, 1, most, most, 128, 128)),
            "rand_val has more bits than 64-bit integers count");
  InstanceDesc desc = described("all", padded(64, 64, 128, 128), attention({}, DType::fp16));
  desc.workspace = [](const InstanceDesc&, const Problem&, std::uint32_t, std::uint32_t) noexcept {
    return ~std::size_t{0} - 8;
  };
  add(desc);
  EXPECT_STREQ(dispatcher().plan(Problem(attention({}, DType::fp16)).fmha(small()), device).status().message,
               "the workspace has more bytes than 64-bit integers count");
}

TEST_F(FmhaPlan, TheWorkspaceIsUsedToItsLastByteAndNotBehind) {
  InstanceDesc desc = described("scores", padded(64, 64, 128, 128), attention());
  desc.workspace = tiny::score_bytes;
  desc.twin = fill_workspace;
  add(desc);
  const Dispatcher own = dispatcher();
  const auto plan = own.plan(problem(small()), device);
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->workspace_size, 2U * 4 * 8 * 8 * 4);
  ASSERT_EQ(plan->workspace_size % 64, 0U) << "so that the guard page is the very next byte";
  const host_test::GuardedMemory room(plan->workspace_size);
  char* const workspace = room.get();
  ASSERT_NE(workspace, nullptr);
  EXPECT_TRUE(own.run(*plan, args(), workspace, nullptr).ok());
  EXPECT_EQ(seen.workspace, workspace);
  EXPECT_EQ(workspace[plan->workspace_size - 1], 0x5a);
  EXPECT_STREQ(own.run(*plan, args(), nullptr, nullptr).message, "workspace is null, the plan needs 2048 bytes");
  EXPECT_TRUE(own.run(*plan, args(), nullptr).ok()) << "from the pool";
  EXPECT_EQ(seen.launches, 2);
}

TEST_F(FmhaPlan, NothingIsLaunchedWhereThereAreNoRows) {
  add("one", padded(64, 64, 128, 128));
  const Dispatcher own = dispatcher();
  FmhaShape x = small();
  x.seqlen_q = 0;
  const auto plan = own.plan(problem(x), device);
  ASSERT_TRUE(plan) << plan.status().message;
  EXPECT_TRUE(own.run(*plan, FmhaArgs{}, nullptr).ok());
  EXPECT_EQ(seen.launches, 0);
  x = small();
  x.seqlen_k = 0;
  const auto blind = own.plan(problem(x), device);
  ASSERT_TRUE(blind) << blind.status().message;
  FmhaArgs without_keys = args();
  without_keys.k = without_keys.v = nullptr;
  EXPECT_TRUE(own.run(*blind, without_keys, nullptr).ok());
  EXPECT_EQ(seen.launches, 1) << "O = 0 is still written";
}

TEST_F(FmhaPlan, AnInstanceWithoutAKernelForTheDeviceSaysSo) {
  InstanceDesc desc = described("none", padded(64, 64, 128, 128), attention());
  desc.twin = nullptr;
  add(desc);
  const auto plan = dispatcher().plan(problem(small()), device);
  ASSERT_TRUE(plan);
  EXPECT_STREQ(plan->launchable.message, "none has no host twin: it cannot run on gfx942");
  EXPECT_STREQ(dispatcher().run(*plan, args(), nullptr).message, plan->launchable.message);
}

TEST_F(FmhaPlan, OnePlanRunsFromManyThreads) {
  InstanceDesc desc = described("quiet", padded(64, 64, 128, 128), attention());
  desc.workspace = tiny::score_bytes;
  desc.twin = [](const Launch& launch) noexcept {
    return launch.workspace != nullptr && launch.problem->fmha().heads_q == 4
               ? Status::success()
               : Status::error(StatusCode::internal, "another problem's launch");
  };
  add(desc);
  const Dispatcher own = dispatcher();
  const auto plan = own.plan(problem(small()), device);
  ASSERT_TRUE(plan);
  const FmhaArgs given = args();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        if (!own.run(*plan, given, nullptr).ok()) ADD_FAILURE() << i;
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST_F(FmhaPlan, ARunNeitherAllocatesNorCopies) {
  add("one", padded(64, 64, 128, 128));
  const Dispatcher own = dispatcher();
  const auto plan = own.plan(problem(small()), device);
  ASSERT_TRUE(plan);
  const FmhaArgs given = args();
  const long before = allocations();
  static_cast<void>(own.run(*plan, given, nullptr, nullptr));
  EXPECT_EQ(allocations(), before);
}

}  // namespace test_fmha_plan
