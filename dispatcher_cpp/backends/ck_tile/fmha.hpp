// Attention forward over ck_tile's pipelines (FmhaFwdKernel), for one Config: the types and the device entry.
//
// Formulas: include/ckgen/fmha.hpp. C++20, for a HIP compile of either half.
#pragma once

#include "fmha_tile.hpp"

#include <ck_tile/ops/fmha/block/block_dropout.hpp>
#include <ck_tile/ops/fmha/kernel/fmha_fwd_kernel.hpp>
#include <ck_tile/ops/fmha/pipeline/block_fmha_pipeline_qr_ks_vs.hpp>
#include <ck_tile/ops/fmha/pipeline/block_fmha_pipeline_qr_ks_vs_async.hpp>
#include <ck_tile/ops/fmha/pipeline/block_fmha_pipeline_qr_ks_vs_async_trload.hpp>

namespace ckgen::tile {

template <FmhaTileConfig kConfig>
struct FmhaForward : FmhaTypes<kConfig> {
  using Of = FmhaTypes<kConfig>;
  static constexpr FmhaTraits kTraits = kConfig.traits;
  static_assert(kTraits.kv == FmhaKv::contiguous);
  using Q = typename Of::Q;

  using Traits = ck_tile::TileFmhaTraits<kConfig.pad_q, kConfig.pad_k, kConfig.pad_hdim_q, kConfig.pad_hdim_v,
                                         kTraits.softcap, Of::kBias, /*bias gradient*/ false, kTraits.lse,
                                         kTraits.dropout == FmhaDropout::philox, Of::kQuantised, kConfig.block_per_cu>;
  using Problem =
      ck_tile::BlockFmhaPipelineProblem<Q, Q, Q, float, float, typename Of::Bias, std::uint8_t, float, Q, float,
                                        typename Of::O, typename Of::Shape, kTraits.varlen, typename Of::Variant,
                                        typename Of::Mask, kConfig.pipeline == FmhaPipeline::qr_async_trload, Traits>;

  template <class P, FmhaPipeline>
  struct PipelineOf;
  template <class P>
  struct PipelineOf<P, FmhaPipeline::qr> {
    using type = ck_tile::BlockFmhaPipelineQRKSVS<P>;
  };
  template <class P>
  struct PipelineOf<P, FmhaPipeline::qr_async> {
    using type = ck_tile::BlockFmhaPipelineQRKSVSAsync<P>;
  };
  template <class P>
  struct PipelineOf<P, FmhaPipeline::qr_async_trload> {
    using type = ck_tile::BlockFmhaPipelineQRKSVSAsyncTrload<P>;
  };
  using Kernel = ck_tile::FmhaFwdKernel<typename PipelineOf<Problem, kConfig.pipeline>::type, typename Of::Epilogue>;
  using Args = FmhaKernelArgs<typename Kernel::Kargs>;
#if defined(__HIP_DEVICE_COMPILE__)
  static_assert(Kernel::GetSmemSize() <= ck_tile::get_smem_capacity(), "the tiles do not fit the arch's LDS");
#endif

  CK_TILE_DEVICE static void run(const Args& args) {
    auto kargs = args.kargs;
    if constexpr (!kTraits.varlen) {
      // where ck_tile's own kernel takes sums of lengths; blockIdx.z is the sequence, see its GetTileIndex
      if (args.seqlen_k != nullptr) kargs.seqlen_k = args.seqlen_k[blockIdx.z];
    }
    Of::apply_descales(args, kargs);
    Kernel{}(kargs);
  }
};

}  // namespace ckgen::tile
