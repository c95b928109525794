// Attention whose keys are split among workgroups (ck_tile's FmhaFwdSplitKVKernel), for one Config: each leaves fp32
// sums and their log-sum-exp, which backends/hip/fmha_combine.hpp makes O and lse of.
//
// Formulas: include/ckgen/fmha.hpp. C++20, for a HIP compile of either half.
#pragma once

#include "fmha_tile.hpp"

#include <ck_tile/ops/fmha/block/page_block_navigator.hpp>
#include <ck_tile/ops/fmha/kernel/fmha_fwd_splitkv_kernel.hpp>
#include <ck_tile/ops/fmha/pipeline/block_fmha_fwd_splitkv_pipeline_qr_ks_vs.hpp>

namespace ckgen::tile {

template <FmhaTileConfig kConfig>
struct FmhaSplitKv : FmhaTypes<kConfig> {
  using Of = FmhaTypes<kConfig>;
  static constexpr FmhaTraits kTraits = kConfig.traits;
  /// Rows of a tile are those of all query heads of a KV head, head by head.
  static constexpr bool kMerged = kConfig.pipeline == FmhaPipeline::qr_splitkv_merged;
  static constexpr bool kPages = kTraits.kv == FmhaKv::block_table;
  static_assert(kMerged || kConfig.pipeline == FmhaPipeline::qr_splitkv);
  static_assert(kPages || kTraits.kv == FmhaKv::contiguous);
  static_assert(!kPages || kConfig.pad_k, "sequences end within a page");
  static_assert(kTraits.dropout == FmhaDropout::none);
  static_assert(!kMerged || (kTraits.bias == FmhaBias::none && !kTraits.masked),
                "rows of other heads are no later rows");
  static_assert(kTraits.bias != FmhaBias::elementwise || kConfig.pad_k, "splits begin within vectors of the bias");
  using Q = typename Of::Q;

  using Traits = ck_tile::TileFmhaFwdSplitKVTraits<kConfig.pad_q, kConfig.pad_k, kConfig.pad_hdim_q, kConfig.pad_hdim_v,
                                                   kTraits.softcap, Of::kBias, /*bias gradient*/ false, /*lse*/ true,
                                                   Of::kQuantised, kPages, /*splits that are no whole tiles*/ true,
                                                   kMerged, kConfig.block_per_cu>;
  using Problem = ck_tile::BlockFmhaFwdSplitKVPipelineProblem<Q, Q, Q, float, float, typename Of::Bias, float, Q, float,
                                                              float, typename Of::Shape, kTraits.varlen,
                                                              typename Of::Variant, typename Of::Mask, Traits>;
  using Sums = ck_tile::Default2DEpilogue<ck_tile::Default2DEpilogueProblem<float, float, false, false>>;
  using Kernel = ck_tile::FmhaFwdSplitKVKernel<ck_tile::BlockFmhaFwdSplitKVPipelineQRKSVS<Problem>, Sums>;
  using Args = FmhaKernelArgs<typename Kernel::Kargs>;
#if defined(__HIP_DEVICE_COMPILE__)
  static_assert(Kernel::GetSmemSize() <= ck_tile::get_smem_capacity(), "the tiles do not fit the arch's LDS");
#endif

  CK_TILE_DEVICE static void run(const Args& args) {
    auto kargs = args.kargs;
    if constexpr (Of::kQuantised) {  // sums are of kLargestP * P; what combines them takes that out again
      kargs.scale_s *= *args.q_descale * *args.k_descale;
      kargs.scale_p = ck_tile::type_convert<float>(ck_tile::numeric<Q>::max());
    }
    Kernel{}(kargs);
  }
};

}  // namespace ckgen::tile
