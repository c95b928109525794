// Appending to a KV cache by ck_tile's FmhaFwdAppendKVKernel, for one Config: the types and the device entry.
//
// Formulas: include/ckgen/fmha.hpp. C++20, for a HIP compile of either half.
#pragma once

// bf16 is rounded to the nearest, not cut: STANDARD_ASM, which plain C++ is where an arch converts itself
#define CK_TILE_FLOAT_TO_BFLOAT16_DEFAULT 3

#include "host_device.hpp"

#include <ck_tile/core.hpp>
#include <ck_tile/ops/common.hpp>
#include <ck_tile/ops/fmha/block/block_attention_bias_enum.hpp>
#include <ck_tile/ops/fmha/block/block_rotary_embedding.hpp>
#include <ck_tile/ops/fmha/block/page_block_navigator.hpp>
#include <ck_tile/ops/fmha/kernel/fmha_fwd_appendkv_kernel.hpp>
#include <ck_tile/ops/fmha/pipeline/block_fmha_fwd_appendkv_pipeline.hpp>
#include <ck_tile/ops/fmha/pipeline/block_fmha_pipeline_problem.hpp>
#include <ck_tile/ops/fmha/pipeline/tile_fmha_traits.hpp>

#include <ckgen/fmha.hpp>

#include "types.hpp"

namespace ckgen::tile {

using ck_tile::index_t;

/// Rows of Q, new rows and head dim of a workgroup; new rows are always padded.
struct FmhaAppendTile {
  DType type;
  FmhaTraits traits;
  index_t m0, n0, hdim;
  bool pad_q, pad_hdim_q, pad_hdim_v;
};

template <FmhaAppendTile kConfig>
struct FmhaAppend {
  static constexpr FmhaTraits kTraits = kConfig.traits;
  static_assert(kTraits.entry == FmhaEntry::append && !kTraits.varlen && !kTraits.v_column);
  static_assert(kTraits.kv != FmhaKv::page_list && kTraits.kv_layout == FmhaKvLayout::linear);
  static_assert(kTraits.quant == FmhaQuant::none, "8-bit rows would be copied as they are");

  using Q = Element<kConfig.type>;
  static constexpr auto kRope = kTraits.rope == FmhaRope::interleaved ? ck_tile::RotaryEmbeddingEnum::INTERLEAVED
                                : kTraits.rope == FmhaRope::half      ? ck_tile::RotaryEmbeddingEnum::HALF_ROTATED
                                                                      : ck_tile::RotaryEmbeddingEnum::NONE;
  using Traits =
      ck_tile::TileFmhaFwdAppendKVTraits<kConfig.pad_q, /*new rows*/ true, kConfig.pad_hdim_q, kConfig.pad_hdim_v>;
  using Problem =
      ck_tile::BlockFmhaFwdAppendKVPipelineProblem<Q, Q, Q, kConfig.m0, kConfig.n0, kConfig.hdim, kConfig.hdim,
                                                   /*V by rows*/ true, kRope, kTraits.kv == FmhaKv::block_table,
                                                   Traits>;
  using Kernel = ck_tile::FmhaFwdAppendKVKernel<ck_tile::BlockFmhaFwdAppendKVPipeline<Problem>>;
  using Args = typename Kernel::Kargs;

  CK_TILE_DEVICE static void run(Args kargs) {
    // every query head would write its KV head's rows: the first of a group does
    if (blockIdx.y % static_cast<unsigned>(kargs.nhead_ratio_qk) != 0) kargs.seqlen_knew = 0;
    Kernel{}(kargs);
  }
};

}  // namespace ckgen::tile

/// Defines the device entry `symbol` of an FmhaAppend.
#define CKGEN_TILE_FMHA_APPEND_KERNEL(symbol, Entry)                                                    \
  extern "C" __global__ void __launch_bounds__((Entry::Kernel::kBlockSize), Entry::Kernel::kBlockPerCu) \
      symbol(Entry::Args args) {                                                                        \
    Entry::run(args);                                                                                   \
  }
