// Attention over K and V in pages that a block table names (ck_tile's FmhaFwdPagedKVKernel), for one Config.
//
// Formulas: include/ckgen/fmha.hpp. C++20, for a HIP compile of either half.
#pragma once

#include "fmha_tile.hpp"

#include <ck_tile/ops/fmha/block/page_block_navigator.hpp>
#include <ck_tile/ops/fmha/kernel/fmha_fwd_pagedkv_kernel.hpp>
#include <ck_tile/ops/fmha/pipeline/block_fmha_fwd_pagedkv_pipeline_qr_ks_vs.hpp>

namespace ckgen::tile {

template <FmhaTileConfig kConfig>
struct FmhaPaged : FmhaTypes<kConfig> {
  using Of = FmhaTypes<kConfig>;
  static constexpr FmhaTraits kTraits = kConfig.traits;
  static_assert(kConfig.pipeline == FmhaPipeline::qr_pagedkv && kTraits.kv == FmhaKv::block_table);
  static_assert(kConfig.pad_k, "sequences end within a page");
  static_assert(!kTraits.lse && kTraits.dropout == FmhaDropout::none);
  static_assert(!Of::kQuantised || kConfig.o == kConfig.q, "the kernel cuts O to the range of 8 bits");
  using Q = typename Of::Q;

  using Traits = ck_tile::TileFmhaFwdPagedKVTraits<kConfig.pad_q, kConfig.pad_k, kConfig.pad_hdim_q, kConfig.pad_hdim_v,
                                                   kTraits.softcap, Of::kBias, /*bias gradient*/ false, kTraits.lse,
                                                   /*pages*/ true, Of::kQuantised, kConfig.block_per_cu>;
  using Problem = ck_tile::BlockFmhaFwdPagedKVPipelineProblem<Q, Q, Q, float, float, typename Of::Bias, float, Q, float,
                                                              typename Of::O, typename Of::Shape, kTraits.varlen,
                                                              typename Of::Variant, typename Of::Mask, Traits>;
  using Kernel =
      ck_tile::FmhaFwdPagedKVKernel<ck_tile::BlockFmhaFwdPagedKVPipelineQRKSVS<Problem>, typename Of::Epilogue>;
  using Args = FmhaKernelArgs<typename Kernel::Kargs>;
#if defined(__HIP_DEVICE_COMPILE__)
  static_assert(Kernel::GetSmemSize() <= ck_tile::get_smem_capacity(), "the tiles do not fit the arch's LDS");
#endif

  CK_TILE_DEVICE static void run(const Args& args) {
    auto kargs = args.kargs;
    Of::apply_descales(args, kargs);
    Kernel{}(kargs);
  }
};

}  // namespace ckgen::tile
