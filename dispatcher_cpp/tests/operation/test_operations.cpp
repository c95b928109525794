// The list of operations: what generic code may call without a check.
#include <gtest/gtest.h>

#include <array>

#include <ckgen/table_product.hpp>

#include "src/operation/operation.hpp"
#include "tiny_library.hpp"

namespace test_operations {

using namespace ckgen;

TEST(Operations, EachStandsAtThePlaceOfItsOp) {
  for (std::size_t i = 0; i < detail::operations.size(); ++i)
    EXPECT_EQ(static_cast<std::size_t>(detail::operations[i]->op), i);
  EXPECT_TRUE(detail::is_operation(Op::fmha));
  EXPECT_EQ(&detail::operation_of(Op::moe), detail::operations[static_cast<std::size_t>(Op::moe)]);
}

TEST(Operations, EachAnswersWhatEveryOneMust) {
  for (const detail::Operation* one : detail::operations) {
    const auto& [op, registering, selecting, listing, running, explaining] = *one;
    EXPECT_NE(registering.is_known, nullptr);
    EXPECT_NE(registering.most_splits, nullptr);
    EXPECT_TRUE(selecting.illegal != nullptr && selecting.verdict != nullptr && selecting.key_batch != nullptr);
    EXPECT_TRUE(selecting.cost_sizes != nullptr && selecting.cost != nullptr);
    EXPECT_NE(listing.read_override, nullptr);
    EXPECT_TRUE(running.what != nullptr && running.give != nullptr && running.check_extents != nullptr);
    EXPECT_TRUE(running.settle != nullptr && running.resets_output != nullptr && running.check_args != nullptr);
    EXPECT_TRUE(explaining.signature != nullptr && explaining.sizes != nullptr && explaining.brief != nullptr);
    EXPECT_TRUE(explaining.demands != nullptr && explaining.measured != nullptr);
  }
}

TEST(Operations, ArgumentsAreOfOneAndReachItsLaunches) {
  const GemmArgs gemm{};
  const GroupedArgs grouped{};
  const MoeArgs moe{};
  const FmhaArgs fmha{};
  const auto given = [](const RunArgs& args) {
    Launch launch{};
    detail::operation_of(args.op()).running.give(args, launch);
    return std::array<const void*, 4>{launch.args, launch.grouped, launch.moe, launch.fmha};
  };
  EXPECT_EQ(given(gemm), (std::array<const void*, 4>{&gemm, nullptr, nullptr, nullptr}));
  EXPECT_EQ(given(grouped), (std::array<const void*, 4>{nullptr, &grouped, nullptr, nullptr}));
  EXPECT_EQ(given(moe), (std::array<const void*, 4>{nullptr, nullptr, &moe, nullptr}));
  EXPECT_EQ(given(fmha), (std::array<const void*, 4>{nullptr, nullptr, nullptr, &fmha}));
}

TEST(Operations, AnInstanceOfNoneIsRefused) {
  const auto none = static_cast<Op>(detail::operations.size());
  EXPECT_FALSE(detail::is_operation(none));
  Signature signature = tiny::fp16;
  signature.op = none;
  Registry registry;
  const Status status = registry.add(tiny::instance("none", 1, signature, {16, 16, 16}, {0, 0, 0, 0, 0, 1, false}));
  EXPECT_EQ(status.code, StatusCode::invalid_argument);
  EXPECT_STREQ(status.message, "instance none: no such operation");
}

TEST(Operations, APartOfOneIsNoOthers) {
  const auto refusal = [](Op op, auto change) {
    Signature signature = tiny::fp16;
    signature.op = op;
    InstanceDesc instance = tiny::instance("one", 1, signature, {16, 16, 16}, {0, 0, 0, 0, 0, 1, false});
    change(instance);
    Registry registry;
    return std::string(registry.add(instance).message);
  };
  const auto streams = [](InstanceDesc& x) { x.stream_k.strategy = Strategy::atomic; };
  const auto has_parts = [](InstanceDesc& x) { x.parts[0] = x.parts[1] = 7; };
  const auto has_tiles = [](InstanceDesc& x) { x.fmha.m0 = 64; };
  EXPECT_EQ(refusal(Op::gemm, streams), "");
  EXPECT_EQ(refusal(Op::moe, has_parts), "");
  EXPECT_EQ(refusal(Op::grouped_gemm, streams), "instance one: stream-K shares one GEMM's tiles only");
  EXPECT_EQ(refusal(Op::moe, streams), "instance one: stream-K shares one GEMM's tiles only");
  EXPECT_EQ(refusal(Op::gemm, has_parts), "instance one: parts are two, and of a MoE layer");
  EXPECT_EQ(refusal(Op::grouped_gemm, has_parts), "instance one: parts are two, and of a MoE layer");
  EXPECT_EQ(refusal(Op::gemm, has_tiles), "instance one: only attention has attention's tiles");
  EXPECT_EQ(refusal(Op::moe, has_tiles), "instance one: only attention has attention's tiles");
}

TEST(Operations, OwnTablesOfAnOperationWithoutAnySayWhoseProductsItsTablesAre) {
  static const TableProduct products[1] = {};
  SignatureUnit unit{"gemm_fp16_rcr", tiny::fp16, nullptr, 0, nullptr, 0, nullptr, 0, nullptr, 0};
  unit.own_tables = products;
  unit.own_table_count = 1;
  const SignatureUnit* const units[] = {&unit};
  Registry registry;
  EXPECT_STREQ(registry.add(Library{"one", CKGEN_RUNTIME_ABI, 1, units, 1}).message,
               "library one, signature gemm_fp16_rcr: a product is said of no table");
}

}  // namespace test_operations
