// How a MoE layer on the CPU is cut, and what goes where in its workspace: the rules in numbers.
#include "backends/host/moe/quantize.hpp"
#include "backends/host/moe/rows.hpp"
#include "backends/host/moe/run.hpp"
#include "backends/host/workspace.hpp"
#include "ckgen/preshuffle.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace test_host_moe_plan {

using namespace ckgen;
using namespace ckgen::host;

/// Register tiles of 6 x 16.
constexpr HostConfig kConfig{Isa::x86_64_v3, 6, 16, 64, 64, 256, 1};

GemmTraits traits_of(DType a, DType c, Quant quant = Quant::none) {
  GemmTraits t{a, a, c, a == DType::int8 ? DType::int32 : DType::fp32, Layout::rcr, quant, false, false};
  t.epilogue.ops[0] = EpilogueOp::relu;
  return t;
}

struct Wanted {
  MoeTraits moe;
  MoeShape shape;
  std::int64_t up_columns, down_columns;
};

MoePlan plan_of(const GemmTraits& traits, const MoeTraits& moe, const MoeShape& shape, int threads = 1) {
  HostConfig config = kConfig;
  config.threads = threads;
  return make_moe_plan(Cutting(traits, config), moe, shape);
}

constexpr MoeTraits kLayer{MoePart::layer, true, false}, kPlain{MoePart::layer, false, false},
    kUp{MoePart::gate_up, true, false}, kDown{MoePart::down, false, false};

// An item has 256 columns, as few as 64 where there are threads to share them, in whole register tiles; of down so few
// that fp32 rows of all experts stay below 64 MiB.
TEST(HostMoePlan, AnItemHasWholeTilesOfColumns) {
  for (const Wanted& x : {
           Wanted{kLayer, {8, 1000, 2000, {4, 2}, 16}, 256, 256},
           Wanted{kLayer, {8, 300, 500, {4, 2}, 16}, 256, 112},  // down: 4 items of 125
           Wanted{kLayer, {1, 300, 500, {4, 1}, 16}, 64, 112},   // up: 4 items of 75, of one expert
           Wanted{kLayer, {2, 800, 200, {4, 1}, 16}, 256, 64},   // up: 2 experts, 2 items each
           Wanted{kLayer, {3, 800, 200, {4, 1}, 16}, 256, 64},   // 3 experts: still 2 items, of 400
           Wanted{kLayer, {2, 500, 200, {4, 1}, 16}, 240, 64},
           Wanted{kLayer, {8, 10, 20, {4, 2}, 16}, 10, 20},
           Wanted{kUp, {8, 100, 500, {4, 2}, 16}, 96, 0},
           Wanted{kDown, {8, 100, 500, {4, 2}, 16}, 0, 64},
           Wanted{kLayer, {100000, 1000, 2000, {4, 2}, 16}, 256, 80},  // 83 columns of 200 000 rows
           Wanted{kLayer, {1000000, 1000, 2000, {4, 2}, 16}, 256, 16},
           Wanted{kLayer, {65536, 1000, 2000, {4, 1}, 16}, 256, 256},
           Wanted{kLayer, {65537, 1000, 2000, {4, 1}, 16}, 256, 240},
       }) {
    SCOPED_TRACE(testing::Message() << x.shape.tokens << " tokens " << x.shape.n << " " << x.shape.k);
    const MoePlan plan = plan_of(traits_of(DType::fp32, DType::fp32), x.moe, x.shape);
    EXPECT_EQ(plan.rows, x.shape.tokens * x.shape.routing.top_k);
    EXPECT_EQ(plan.part_rows, std::min<std::int64_t>(plan.rows, 1024));
    EXPECT_EQ(plan.hidden, x.moe.part == MoePart::down ? x.shape.k : x.shape.n);
    if (has_gate_up(x.moe.part)) {
      EXPECT_EQ(plan.up_columns, x.up_columns);
    }
    if (has_down(x.moe.part)) {
      EXPECT_EQ(plan.down_columns, x.down_columns);
    }
  }
}

TEST(HostMoePlan, ThreadsAreWorthWakingFromAMillionOperationsOn) {
  EXPECT_EQ(plan_of(traits_of(DType::fp32, DType::fp32), kLayer, {50, 100, 50, {4, 2}, 16}, 0).threads, thread_count());
  EXPECT_EQ(plan_of(traits_of(DType::fp32, DType::fp32), kLayer, {50, 100, 49, {4, 2}, 16}, 0).threads, 1);
}

/// Where everything is, from the columns of items and the sizes of parts.
void expect_laid_out(const GemmTraits& t, const MoeTraits& moe, const MoeShape& shape) {
  const MoePlan plan = plan_of(t, moe, shape);
  const bool whole = moe.part == MoePart::layer, again = whole && t.quant != Quant::none;
  const std::int64_t rows = plan.rows, hidden = plan.hidden;
  const auto bytes = [](DType type, std::int64_t n) { return aligned_64(static_cast<std::size_t>(bytes_of(type, n))); };
  // first[experts + 1], then row, token, place and weight of each row
  std::size_t at = words_bytes(shape.routing.experts + 1 + 4 * rows, 1);
  EXPECT_EQ(plan.h_offset, at);
  if (whole) at += bytes(t.c, rows * hidden);
  if (again) {
    EXPECT_EQ(plan.codes_offset, at);
    at += bytes(t.a, rows * hidden);
    EXPECT_EQ(plan.scales_offset, at);
    at += aligned_64(scale_bytes(t, rows, hidden));
    EXPECT_EQ(plan.largest_offset, at);
    if (t.quant == Quant::per_tensor) at += words_bytes(rows, 1);
  }
  EXPECT_EQ(plan.slots_offset, at);

  const Cutting cutting(t, kConfig);
  const std::int64_t columns = whole ? shape.k : shape.n, depth = whole ? shape.n : shape.k;
  const auto part = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    return part_bytes(plan.product, cutting.part_blocking(k), m, n, k);
  };
  const std::size_t up = words_bytes(plan.part_rows, plan.up_columns), down = words_bytes(rows, plan.down_columns);
  std::size_t product = 0, results = 0;
  if (moe.part != MoePart::down) {
    product = part(plan.part_rows, plan.up_columns, shape.k);
    results = up * (moe.gated ? 2 : 1);
  }
  if (moe.part != MoePart::gate_up) {
    EXPECT_GT(columns, 0);
    product = std::max(product, part(rows, plan.down_columns, depth));
    results = std::max(results, down + words_bytes(2, plan.down_columns));  // sums take two lines in turn
  }
  EXPECT_EQ(plan.result_offset, aligned_64(product));
  if (moe.part != MoePart::down) {
    EXPECT_EQ(plan.up_offset, plan.result_offset + up);
  }
  if (moe.part != MoePart::gate_up) {
    EXPECT_EQ(plan.line_offset, plan.result_offset + down);
  }
  std::size_t slot = plan.result_offset + results;
  if (again) slot = std::max(slot, words_bytes(hidden, 1));
  EXPECT_EQ(plan.slot_bytes, slot);
  EXPECT_EQ(plan.bytes, plan.slots_offset + slot * static_cast<std::size_t>(plan.threads));
}

TEST(HostMoePlan, WhatLiesInTheWorkspaceFollowsInItsOrder) {
  for (const MoeTraits& moe : {kLayer, kPlain, kUp, kDown})
    for (const Quant quant : {Quant::none, Quant::per_tensor, Quant::rowwise, Quant::blockscale, Quant::mx})
      for (const MoeShape& shape : {MoeShape{1, 40, 72, {3, 1}, 16}, MoeShape{37, 160, 96, {5, 2}, 16},
                                    MoeShape{700, 96, 260, {5, 2}, 16}, MoeShape{2, 20000, 64, {5, 2}, 16}}) {
        SCOPED_TRACE(testing::Message() << static_cast<int>(moe.part) << moe.gated << " " << name(quant) << " "
                                        << shape.tokens << " tokens");
        const DType a = quant == Quant::none ? DType::bf16 : DType::fp8_ocp;
        expect_laid_out(traits_of(a, DType::bf16, quant), moe, shape);
      }
}

TEST(HostMoePlan, ScalesOfHTakeTheirBytes) {
  const auto bytes = [](Quant quant, std::int64_t rows, std::int64_t columns) {
    return scale_bytes(traits_of(DType::fp8_ocp, DType::bf16, quant), rows, columns);
  };
  EXPECT_EQ(bytes(Quant::none, 7, 300), 0U);
  EXPECT_EQ(bytes(Quant::per_tensor, 7, 300), 4U);
  EXPECT_EQ(bytes(Quant::rowwise, 7, 300), 28U);
  EXPECT_EQ(bytes(Quant::blockscale, 7, 256), 56U);
  EXPECT_EQ(bytes(Quant::blockscale, 7, 257), 84U);
  const auto padded = static_cast<std::size_t>(shuffled_mx_scale_bytes(7, 10));
  EXPECT_EQ(bytes(Quant::mx, 7, 300), std::max<std::size_t>(70, padded));
  GemmTraits t = traits_of(DType::fp8_ocp, DType::bf16, Quant::blockscale);
  t.scale_block.sides = ScaleSides::b;
  EXPECT_EQ(scale_bytes(t, 7, 300), 0U);
  EXPECT_EQ(quantize_slot_bytes(300), 1200U);
}

TEST(HostMoePlan, HIsQuantisedWhereAIsAnotherTypeOrHasScales) {
  EXPECT_FALSE(quantizes(traits_of(DType::bf16, DType::bf16)));
  EXPECT_TRUE(quantizes(traits_of(DType::bf16, DType::fp16)));
  EXPECT_TRUE(quantizes(traits_of(DType::bf16, DType::bf16, Quant::rowwise)));
  GemmTraits t = traits_of(DType::bf16, DType::bf16, Quant::blockscale);
  t.scale_block.sides = ScaleSides::b;
  EXPECT_FALSE(quantizes(t));
}

TEST(HostMoePlan, RowsAreListedByExpertInTheirOrder) {
  const std::int32_t ids[] = {2, 0, 2, 2, 0, 3};
  const float weights[] = {1, 2, 3, 4, 5, 6};
  const Routing routing{5, 2};
  std::int32_t memory[64];
  std::fill(std::begin(memory), std::end(memory), -7);
  EXPECT_EQ(expert_rows_bytes(3, routing), 128U);  // 6 + 4 * 6 words
  EXPECT_EQ(expert_rows_bytes(3, {8, 1}), 128U);   // 9 + 4 * 3
  EXPECT_EQ(expert_rows_bytes(3, {3, 1}), 64U);    // 4 + 4 * 3
  const ExpertRows x = expert_rows_in(memory, 3, routing);
  ASSERT_TRUE(list_rows(ids, weights, x));
  const auto is = [](const auto* found, std::initializer_list<int> wanted) {
    return std::equal(wanted.begin(), wanted.end(), found,
                      [](int a, auto b) { return static_cast<float>(a) == static_cast<float>(b); });
  };
  EXPECT_TRUE(is(x.first, {0, 2, 2, 5, 6, 6}));
  EXPECT_TRUE(is(x.row, {1, 4, 0, 2, 3, 5}));
  EXPECT_TRUE(is(x.token, {0, 2, 0, 1, 1, 2}));
  EXPECT_TRUE(is(x.place, {2, 0, 3, 4, 1, 5}));
  EXPECT_TRUE(is(x.weight, {1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(memory[30], -7) << "behind 6 + 4 * 6 words";
  for (const std::int32_t wrong : {-1, 5}) {
    const std::int32_t other[] = {2, 0, 2, 2, 0, wrong};
    EXPECT_FALSE(list_rows(other, weights, x));
  }
}

}  // namespace test_host_moe_plan
