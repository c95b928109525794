// What ck_tile's attention kernels share, for one Config: its numbers, and the types that they become.
//
// C++20, for a HIP compile of either half. Which kernel: fmha.hpp, fmha_paged.hpp, fmha_split_kv.hpp.
#pragma once

// e^x is 2^(x log2 e) in every kernel; ck_tile has soft caps in this form only
#define CK_TILE_FMHA_FWD_FAST_EXP2 1
// P and O in bf16 are rounded to the nearest, not cut: STANDARD_ASM, which plain C++ is where an arch converts itself
#define CK_TILE_FLOAT_TO_BFLOAT16_DEFAULT 3

#include "host_device.hpp"

#include <ck_tile/core.hpp>
#include <ck_tile/ops/epilogue/default_2d_epilogue.hpp>
#include <ck_tile/ops/fmha/block/block_attention_bias_enum.hpp>
#include <ck_tile/ops/fmha/block/block_masking.hpp>
#include <ck_tile/ops/fmha/block/block_position_encoding.hpp>
#include <ck_tile/ops/fmha/block/variants.hpp>
#include <ck_tile/ops/fmha/pipeline/block_fmha_pipeline_problem.hpp>
#include <ck_tile/ops/fmha/pipeline/tile_fmha_shape.hpp>
#include <ck_tile/ops/fmha/pipeline/tile_fmha_traits.hpp>

#include <cstdint>
#include <type_traits>

#include <ckgen/fmha.hpp>

#include "types.hpp"

namespace ckgen::tile {

using ck_tile::index_t;

enum class FmhaPipeline : std::uint8_t {
  qr,
  qr_async,
  qr_async_trload,
  qr_pagedkv,
  qr_splitkv,
  qr_splitkv_merged,
  qr_async_gather
};

/// How one workgroup computes, as numbers; a field per field of the instance's Config, behind what it computes.
/// block_per_cu -1: the pipeline's own.
struct FmhaTileConfig {
  DType q;
  DType kv;
  DType o;
  FmhaTraits traits;
  FmhaPipeline pipeline;
  index_t m0, n0, k0, n1, k1, k0_max;
  index_t warps[3];
  index_t warp_tile[3];
  bool pad_q, pad_k, pad_hdim_q, pad_hdim_v;
  index_t block_per_cu;
};

/// What ck_tile's kernel takes, and what is read on the device before it: a batch's lengths of K, and descales.
template <class Kargs>
struct FmhaKernelArgs {
  Kargs kargs;
  const std::int32_t* seqlen_k;  // [batch], not of varlen; null: all of K
  const float* q_descale;        // [1] each, of quantised kernels
  const float* k_descale;
  const float* v_descale;
};

/// The types of a kernel's parts. P has Q's type; all sums are fp32.
template <FmhaTileConfig kConfig>
struct FmhaTypes {
  static constexpr FmhaTraits kTraits = kConfig.traits;
  static constexpr bool kQuantised = kTraits.quant == FmhaQuant::per_tensor;
  static_assert(kConfig.q == kConfig.kv, "Q, K and V have one type");
  static_assert(has_flavour(kConfig.q), "fp8 of the other flavour than the arch's");
  static_assert(kTraits.entry == FmhaEntry::forward && kTraits.kv_layout == FmhaKvLayout::linear && !kTraits.sink);
  static_assert(kTraits.dropout != FmhaDropout::randval && (kQuantised || kTraits.quant == FmhaQuant::none));
  static_assert(!(kTraits.softcap && kTraits.bias != FmhaBias::none));
  static_assert(!kTraits.varlen || (kConfig.pad_q && kConfig.pad_k), "lengths are not known to be whole tiles");

  using Q = Element<kConfig.q>;
  using O = Element<kConfig.o>;
  using Bias = std::conditional_t<kQuantised, float, Q>;
  static constexpr auto kBias = kTraits.bias == FmhaBias::elementwise
                                    ? ck_tile::BlockAttentionBiasEnum::ELEMENTWISE_BIAS
                                : kTraits.bias == FmhaBias::alibi ? ck_tile::BlockAttentionBiasEnum::ALIBI
                                                                  : ck_tile::BlockAttentionBiasEnum::NO_BIAS;

  using Warps = ck_tile::sequence<kConfig.warps[0], kConfig.warps[1], kConfig.warps[2]>;
  using WarpTile = ck_tile::sequence<kConfig.warp_tile[0], kConfig.warp_tile[1], kConfig.warp_tile[2]>;
  using Shape = ck_tile::TileFmhaShape<
      ck_tile::sequence<kConfig.m0, kConfig.n0, kConfig.k0, kConfig.n1, kConfig.k1, kConfig.k0_max>, Warps, WarpTile,
      Warps, WarpTile, !kTraits.v_column>;
  using Variant =
      ck_tile::ComposedAttention<kTraits.softcap ? ck_tile::LOGITS_SOFT_CAP : 0, CK_TILE_FMHA_FWD_FAST_EXP2>;
  using Mask = ck_tile::SimplifiedGenericAttentionMask<kTraits.masked>;
  using Epilogue =
      ck_tile::Default2DEpilogue<ck_tile::Default2DEpilogueProblem<float, O, kConfig.pad_q, kConfig.pad_hdim_v>>;

  /// Descales become factors of the scores and of O.
  template <class Kargs>
  CK_TILE_DEVICE static void apply_descales(const FmhaKernelArgs<Kargs>& args, Kargs& kargs) {
    if constexpr (kQuantised) {
      kargs.scale_s *= *args.q_descale * *args.k_descale;
      kargs.scale_p = ck_tile::type_convert<float>(ck_tile::numeric<Q>::max());
      kargs.scale_o = *args.v_descale / kargs.scale_p;
    }
  }
};

}  // namespace ckgen::tile

/// Defines the device entry `symbol` of an Entry: FmhaForward, FmhaPaged, FmhaSplitKv or FmhaGather.
#define CKGEN_TILE_FMHA_KERNEL(symbol, Entry)                                                           \
  extern "C" __global__ void __launch_bounds__((Entry::Kernel::kBlockSize), Entry::Kernel::kBlockPerCu) \
      symbol(Entry::Args args) {                                                                        \
    Entry::run(args);                                                                                   \
  }
