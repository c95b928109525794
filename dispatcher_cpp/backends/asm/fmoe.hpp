// fmoe: a whole MoE layer in one kernel, and fmoe_stage1: its gate_up product; 8-bit operands, bf16 C, W1 with gate and
// up rows, weights preshuffled in 16 rows.
//
// A layer rounds H to the operands' type with a scale per row of what one workgroup has (tile_n columns), and adds its
// results to C. What the kernels ask of sizes is in codegen/ckgen/families/moe/asm_kinds.json.
#pragma once

#include <cstdint>
#include <limits>

#include <ckgen/moe.hpp>

#include "backends/asm/shipped.hpp"

namespace ckgen::asm_host {

/// One shipped MoE kernel. tile_m is block_m; tile_n columns of H. `block_scales`: of 128 along K and 128x128 of W,
/// else of rows. `groups_per_cu`: of a kernel whose workgroups share all blocks, 0 of any other.
struct MoeKernel {
  Kernel kernel;
  bool block_scales;
  std::uint32_t groups_per_cu;
};

/// Strides count bytes: of rows, and of experts for weights and scales. Null: not read.
struct FmoeArguments {
  Slot<void*> out;
  Slot<const void*> x;
  Slot<const void*> w1;
  Slot<const void*> valid;
  Slot<const void*> w2;
  Slot<const void*> x_scale, w1_scale, w2_scale;
  Slot<const void*> smooth;
  Slot<const void*> ids;
  Slot<const void*> id_weights;
  Slot<const void*> block_experts;
  Slot<std::uint32_t> model, inter, tokens, experts;
  Slot<std::uint32_t> stride_x, stride_w1, stride_w2, stride_out;
  Slot<std::uint32_t> expert_w1, expert_w2, expert_w1_scale, expert_w2_scale, expert_smooth;
  Slot<std::uint32_t> choices;
  Slot<std::uint32_t> groups, groups_per_block;
};
static_assert(sizeof(FmoeArguments) == 28 * 16);

struct FmoeStage1Arguments {
  Slot<void*> out;
  Slot<const void*> x;
  Slot<const void*> w1;
  Slot<const void*> valid;
  Slot<const void*> x_scale, w1_scale;
  Slot<const void*> smooth;
  Slot<const void*> ids;
  Slot<const void*> block_experts;
  Slot<std::uint32_t> model, inter, tokens, experts;
  Slot<std::uint32_t> stride_x, stride_w1, stride_out;
  Slot<std::uint32_t> expert_w1, expert_w1_scale, expert_smooth;
  Slot<std::uint32_t> choices;
  Slot<std::uint32_t> log2_splits;
  Slot<std::uint32_t> activation;  // 0 silu, 1 gelu
  Slot<const void*> id_weights;    // where A's row is weighted
};
static_assert(sizeof(FmoeStage1Arguments) == 23 * 16);

/// Sizes of a layer in elements, as both kinds take them, and blocks of sorted rows that there may be.
struct MoeSizes {
  std::uint32_t tokens, model, inter, experts, top_k, blocks;
};

/// Refuses what 32 bits do not count in bytes, and another block_m or order of scales than the kernel's.
inline Status moe_sizes(const MoeKernel& kernel, const Launch& launch, MoeSizes& to) noexcept {
  const MoeArgs& x = *launch.moe;
  const Problem& problem = *launch.problem;
  const Routing routing = problem.routing();
  const char* name = kernel.kernel.instance;
  const std::int64_t inter = problem.n(), model = problem.k();
  if (launch.k_batch > 1)
    return Status::error(StatusCode::unsupported, "%s: the kernel does not split K, k_batch is %u", name,
                         launch.k_batch);
  if (kernel.block_scales && x.a_scale_row_major)
    return Status::error(StatusCode::unsupported,
                         "%s: the kernel reads a_scale as [K/128][token] (not a_scale_row_major)", name);
  const std::int64_t sorted = sorted_capacity(x.tokens, routing, kernel.kernel.tile_m);
  if (sorted < 0)
    return Status::error(StatusCode::unsupported, "%s: %lld tokens are beyond 32 bits", name,
                         static_cast<long long>(x.tokens));
  const struct {
    const char* what;
    std::int64_t bytes;
  } spans[] = {{"A", x.tokens * x.lda},
               {"C", x.tokens * routing.top_k * x.ldc * 2},
               {"an expert's W1", 2 * inter * model},
               {"an expert's scales", 2 * 4 * inter},
               {"a row", 4 * model}};
  for (const auto& span : spans) {
    if (span.bytes > kReach)
      return Status::error(StatusCode::unsupported, "%s: %s takes %lld bytes, more than the %lld that are reached",
                           name, span.what, static_cast<long long>(span.bytes), static_cast<long long>(kReach));
  }
  if (x.lda % kRowBytes != 0 || x.ldc % (kRowBytes / 2) != 0)
    return Status::error(StatusCode::unsupported, "%s: rows of A and C must be whole pieces of %d bytes", name,
                         static_cast<int>(kRowBytes));
  to = {static_cast<std::uint32_t>(x.tokens),
        static_cast<std::uint32_t>(model),
        static_cast<std::uint32_t>(inter),
        routing.experts,
        routing.top_k,
        static_cast<std::uint32_t>(sorted / kernel.kernel.tile_m)};
  return Status::success();
}

/// Bytes from one expert's scales of `rows` x `columns` weights to the next one's.
constexpr std::uint32_t expert_scales(const MoeKernel& kernel, std::uint32_t rows, std::uint32_t columns) noexcept {
  return 4 * (kernel.block_scales ? rows / 128 * (columns / 128) : rows);
}

/// PrepareFn's work for one kernel of a layer; the tokens are sorted.
inline Status prepare_fmoe(const MoeKernel& kernel, const Launch& launch, std::uint32_t cu_num,
                           KernelCall& out) noexcept {
  MoeSizes s;
  if (const Status status = moe_sizes(kernel, launch, s); !status.ok()) return status;
  const MoeArgs& x = *launch.moe;
  FmoeArguments to;
  to.out.value = x.c;
  to.x.value = x.a;
  to.w1.value = x.w1;
  to.valid.value = x.sorted.valid;
  to.w2.value = x.w2;
  to.x_scale.value = x.a_scale;
  to.w1_scale.value = x.w1_scale;
  to.w2_scale.value = x.w2_scale;
  to.ids.value = x.sorted.token_ids;
  to.id_weights.value = x.sorted.weights;
  to.block_experts.value = x.sorted.expert_ids;
  to.model.value = to.stride_w1.value = s.model;
  to.inter.value = to.stride_w2.value = s.inter;
  to.tokens.value = s.tokens;
  to.experts.value = s.experts;
  to.stride_x.value = static_cast<std::uint32_t>(x.lda);
  to.stride_out.value = static_cast<std::uint32_t>(2 * x.ldc);
  to.expert_w1.value = 2 * s.inter * s.model;
  to.expert_w2.value = s.inter * s.model;
  to.expert_w1_scale.value = expert_scales(kernel, 2 * s.inter, s.model);
  to.expert_w2_scale.value = expert_scales(kernel, s.model, s.inter);
  to.expert_smooth.value = 4 * s.inter;
  to.choices.value = s.top_k;
  const auto per_block = static_cast<std::uint32_t>(ceil_div(s.inter, kernel.kernel.tile_n));
  to.groups_per_block.value = per_block;
  device::Extent grid{per_block, s.blocks, 1};
  if (kernel.groups_per_cu != 0) {
    const std::uint32_t all = kernel.groups_per_cu * cu_num;
    to.groups.value = all / per_block * per_block;
    if (to.groups.value == 0)
      return Status::error(StatusCode::unsupported, "%s: %u workgroups cannot share %u pieces of H",
                           kernel.kernel.instance, all, per_block);
    grid = {all, 1, 1};
  }
  const Status filled = device::fill(out, kernel.kernel.symbol, grid, device::Extent{kernel.kernel.block, 1, 1}, 0, to);
  if (filled.ok()) device::clear_c(out, launch);
  return filled;
}

/// PrepareFn's work for one kernel of gate_up; `gelu` as the signature says, `weighted` as the kernel does.
inline Status prepare_fmoe_stage1(const MoeKernel& kernel, bool gelu, bool weighted, const Launch& launch,
                                  KernelCall& out) noexcept {
  MoeSizes s;
  if (const Status status = moe_sizes(kernel, launch, s); !status.ok()) return status;
  const MoeArgs& x = *launch.moe;
  if (x.ldc != launch.problem->n())
    return Status::error(StatusCode::unsupported, "%s: the kernel writes rows without gaps, not ldc %lld",
                         kernel.kernel.instance, static_cast<long long>(x.ldc));
  FmoeStage1Arguments to;
  to.out.value = x.c;
  to.x.value = x.a;
  to.w1.value = x.w1;
  to.valid.value = x.sorted.valid;
  to.x_scale.value = x.a_scale;
  to.w1_scale.value = x.w1_scale;
  to.ids.value = x.sorted.token_ids;
  to.block_experts.value = x.sorted.expert_ids;
  to.model.value = to.stride_w1.value = s.model;
  to.inter.value = s.inter;
  to.tokens.value = s.tokens;
  to.experts.value = s.experts;
  to.stride_x.value = static_cast<std::uint32_t>(x.lda);
  to.stride_out.value = 2 * s.top_k * s.inter;
  to.expert_w1.value = 2 * s.inter * s.model;
  to.expert_w1_scale.value = expert_scales(kernel, 2 * s.inter, s.model);
  to.expert_smooth.value = 4 * s.inter;
  to.choices.value = s.top_k;
  to.activation.value = gelu ? 1 : 0;
  to.id_weights.value = weighted ? x.sorted.weights : nullptr;
  const device::Extent grid{ceil_div(s.inter, kernel.kernel.tile_n), s.blocks, 1};
  return device::fill(out, kernel.kernel.symbol, grid, device::Extent{kernel.kernel.block, 1, 1}, 0, to);
}

}  // namespace ckgen::asm_host
