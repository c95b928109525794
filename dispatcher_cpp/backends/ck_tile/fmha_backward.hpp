// Attention's backward by ck_tile, for one Config: the types of its kernels and their device entries. In order:
// dot_do_o makes delta, dq_dk_dv the gradients, dQ as fp32 sums, convert_dq rounds these. Of an ordered kernel dQ has a
// part for each tile of keys, which another kernel adds up.
//
// Formulas: include/ckgen/fmha.hpp. C++20, for a HIP compile of either half.
#pragma once

// P and gradients in bf16 are rounded to the nearest, not cut: STANDARD_ASM, plain C++ where an arch converts itself
#define CK_TILE_FLOAT_TO_BFLOAT16_DEFAULT 3

#include "host_device.hpp"

#include <ck_tile/core.hpp>
#include <ck_tile/ops/epilogue/default_2d_epilogue.hpp>
#include <ck_tile/ops/fmha/block/block_attention_bias_enum.hpp>
#include <ck_tile/ops/fmha/block/block_dropout.hpp>
#include <ck_tile/ops/fmha/block/block_masking.hpp>
#include <ck_tile/ops/fmha/block/block_position_encoding.hpp>
#include <ck_tile/ops/fmha/kernel/fmha_bwd_kernel.hpp>
#include <ck_tile/ops/fmha/pipeline/block_fmha_bwd_convert_dq.hpp>
#include <ck_tile/ops/fmha/pipeline/block_fmha_bwd_dot_do_o.hpp>
#include <ck_tile/ops/fmha/pipeline/block_fmha_bwd_pipeline_problem.hpp>
#include <ck_tile/ops/fmha/pipeline/tile_fmha_shape.hpp>
#include <ck_tile/ops/fmha/pipeline/tile_fmha_traits.hpp>

#include <cstdint>
#include <type_traits>

#include <ckgen/fmha.hpp>

#include "types.hpp"

namespace ckgen::tile {

using ck_tile::index_t;

/// How one workgroup computes: m0 rows of Q at a time, against n0 keys; k4 of these at once into dQ, whose rows
/// `dq_waves` of four waves share. hdim: of Q and of V, both padded as `pad` says: 0, they are hdim; 8 or 1, multiples
/// of it. `grouped`: dK and dV are fp32 sums of each query head, which another kernel adds up. `ordered`: no tile of
/// keys adds to what another one wrote.
struct FmhaBackwardTile {
  DType type;
  FmhaTraits traits;
  index_t m0, n0, k4, hdim;
  index_t dq_waves;
  index_t pad;
  bool grouped, ordered;
};

/// Elements from head to head and from batch entry to batch entry; 64 bits, which ck_tile's own strides are not.
struct FmhaBackwardPlace {
  std::int64_t head, batch;
};

/// What dq_dk_dv takes: ck_tile's arguments without the distances that stand here.
template <class Kargs>
struct FmhaBackwardArgs {
  Kargs kargs;
  const std::int32_t* seqlen_k;  // [batch], of batches; null: all of K
  FmhaBackwardPlace lse, delta, dq, dk, dv;
  std::int64_t dq_part;           // from tile to tile of keys
  FmhaBackwardPlace bias, dbias;  // of elements
};

/// What dot_do_o and convert_dq take: ck_tile's arguments without the distances in the workspace, which stand here.
template <class Kargs>
struct FmhaBackwardPlaced {
  Kargs kargs;
  FmhaBackwardPlace place;
};

template <FmhaBackwardTile kConfig>
struct FmhaBackward {
  static constexpr FmhaTraits kTraits = kConfig.traits;
  static_assert(kTraits.entry == FmhaEntry::backward && !kTraits.softcap && !kTraits.sink);
  static_assert(kTraits.dropout != FmhaDropout::randval);

  using Q = Element<kConfig.type>;
  using Gradient = std::conditional_t<kConfig.grouped, float, Q>;  // of K and V
  static constexpr bool kWide = kConfig.type == DType::fp32, kPads = kConfig.pad != 0;
  static constexpr index_t kRowsAtOnce = 64, kThreads = 256;              // of dot_do_o and convert_dq
  static constexpr index_t kDepth = kWide ? 16 : 32;                      // of a warp tile
  static constexpr bool kBiased = kTraits.bias == FmhaBias::elementwise;  // dbias too
  static constexpr auto kBias = kBiased                           ? ck_tile::BlockAttentionBiasEnum::ELEMENTWISE_BIAS
                                : kTraits.bias == FmhaBias::alibi ? ck_tile::BlockAttentionBiasEnum::ALIBI
                                                                  : ck_tile::BlockAttentionBiasEnum::NO_BIAS;

  using Scores = ck_tile::sequence<1, 4, 1>;
  using Keys = ck_tile::sequence<4, 1, 1>;
  using Rows = ck_tile::sequence<kConfig.dq_waves, 4 / kConfig.dq_waves, 1>;
  using Deep = ck_tile::sequence<16, 16, kDepth>;
  using Flat = ck_tile::sequence<16, 16, 16>;
  using Shape =
      ck_tile::TileFmhaBwdShape<ck_tile::sequence<kConfig.m0, kConfig.n0, kConfig.hdim, kConfig.m0, kConfig.hdim,
                                                  kConfig.m0, kConfig.k4, kConfig.hdim, kConfig.hdim>,
                                Scores, Deep, Keys, Flat, Scores, Deep, Keys, Flat, Rows,
                                ck_tile::sequence<16, 16, ck_tile::min(kDepth, kConfig.k4)>>;
  using Traits = ck_tile::TileFmhaBwdTraits<kConfig.pad, kConfig.pad, kBias, kBiased, 1>;
  using Dropout = ck_tile::BlockDropoutBwd<kTraits.dropout == FmhaDropout::philox, /*of 32 rows*/ false, false>;
  using Mask = ck_tile::SimplifiedGenericAttentionMask<kTraits.masked>;
  using Problem =
      ck_tile::BlockFmhaBwdPipelineProblem<Q, Q, Q, Q, float, float, float, Q, std::uint8_t, Q, Q, Q, Gradient,
                                           Gradient, Q, Shape, kTraits.varlen, kConfig.ordered, Mask, Dropout,
                                           /*transposing loads*/ false, Traits>;
  template <class To>
  using Epilogue = ck_tile::Default2DEpilogue<ck_tile::Default2DEpilogueProblem<float, To, false, kPads>>;
  using Kernel = ck_tile::FmhaBwdDQDKDVKernel<ck_tile::BlockFmhaBwdDQDKDVPipeline<Problem>, Epilogue<Gradient>,
                                              Epilogue<Gradient>, Epilogue<Q>>;
  using DotDoO = ck_tile::FmhaBwdOGradDotOKernel<ck_tile::BlockFmhaBwdOGradDotO<
      ck_tile::BlockFmhaBwdOGradDotOPipelineProblem<Q, Q, float, kRowsAtOnce, kConfig.hdim, kTraits.varlen,
                                                    ck_tile::TileFmhaBwdOGradDotOTraits<true, kPads, 2>>>>;
  using ConvertDq = ck_tile::FmhaBwdConvertQGradKernel<ck_tile::BlockFmhaBwdConvertQGrad<
      ck_tile::BlockFmhaBwdConvertQGradPipelineProblem<float, Q, kThreads, kRowsAtOnce, 0, kConfig.hdim, kTraits.varlen,
                                                       false, ck_tile::TileFmhaBwdConvertQGradTraits<true, kPads, 2>>>>;
  using Args = FmhaBackwardArgs<typename Kernel::Kargs>;
  using DotDoOArgs = FmhaBackwardPlaced<typename DotDoO::Kargs>;
  using ConvertDqArgs = FmhaBackwardPlaced<typename ConvertDq::Kargs>;
#if defined(__HIP_DEVICE_COMPILE__)
  static_assert(Kernel::GetSmemSize() <= ck_tile::get_smem_capacity(), "the tiles do not fit the arch's LDS");
#endif

  CK_TILE_DEVICE static void run_dot_do_o(const DotDoOArgs& args) {
    auto kargs = args.kargs;
    kargs.d_ptr = at<float>(kargs.d_ptr, offset(args.place));
    DotDoO{}(kargs);
  }
  CK_TILE_DEVICE static void run_convert_dq(const ConvertDqArgs& args) {
    auto kargs = args.kargs;
    kargs.dq_acc_ptr = at<float>(kargs.dq_acc_ptr, offset(args.place));
    ConvertDq{}(kargs);
  }
  /// dq_dk_dv: ck_tile's kernel, behind offsets in 64 bits and what it leaves to others.
  CK_TILE_DEVICE static void run(const Args& args) {
    auto kargs = args.kargs;
    const unsigned b = blockIdx.z;
    index_t rows, keys;
    if constexpr (kTraits.varlen) {
      rows = length(kargs.seqstart_q_ptr, kargs.seqlen_q_ptr);
      keys = length(kargs.seqstart_k_ptr, kargs.seqlen_k_ptr);
      if constexpr (kConfig.grouped) {  // sums of a sequence begin with it
        const std::int64_t first = kargs.seqstart_k_ptr[b];
        kargs.dk_ptr = at<Gradient>(kargs.dk_ptr, -first * kargs.stride_dk);
        kargs.dv_ptr = at<Gradient>(kargs.dv_ptr, -first * kargs.stride_dv);
      }
    } else {
      if (args.seqlen_k != nullptr) kargs.seqlen_k = args.seqlen_k[b];
      rows = kargs.seqlen_q;
      keys = kargs.seqlen_k;
    }
    kargs.lse_ptr = at<float>(kargs.lse_ptr, offset(args.lse));
    kargs.d_ptr = at<float>(kargs.d_ptr, offset(args.delta));
    kargs.dq_acc_ptr = at<float>(kargs.dq_acc_ptr, offset(args.dq));
    if constexpr (kConfig.ordered) {  // ck_tile's own distance of parts is 0
      const std::int64_t first_row =
          kTraits.varlen ? std::int64_t{seqstart_q(kargs, b)} : 0;  // a sequence begins a part
      kargs.dq_acc_ptr = at<float>(kargs.dq_acc_ptr, blockIdx.x * args.dq_part - first_row * kargs.stride_dq_acc);
    }
    kargs.dk_ptr = at<Gradient>(kargs.dk_ptr, offset(args.dk));
    kargs.dv_ptr = at<Gradient>(kargs.dv_ptr, offset(args.dv));
    const index_t first = static_cast<index_t>(blockIdx.x) * kConfig.n0;
    if (keys <= first) return;
    const index_t last = ck_tile::min(keys, first + kConfig.n0);
    if constexpr (kBiased) {
      kargs.bias_ptr = at<Q>(kargs.bias_ptr, offset(args.bias));
      kargs.dbias_ptr = at<Q>(kargs.dbias_ptr, offset(args.dbias));
      if constexpr (kTraits.masked) zero_unseen(kargs, rows, keys, first, last);
    }
    if (rows != 0) return Kernel{}(kargs);
    // keys that no row sees; ck_tile writes nothing here, or what it read of rows that are not there
    std::int64_t start = 0;
    if constexpr (kTraits.varlen) start = kargs.seqstart_k_ptr[b];
    zero<Gradient>(kargs.dk_ptr, start, first, last, kargs.stride_dk, 0, kargs.hdim_q);
    zero<Gradient>(kargs.dv_ptr, start, first, last, kargs.stride_dv, 0, kargs.hdim_v);
  }

 private:
  /// Of this workgroup's sequence and query head.
  CK_TILE_DEVICE static std::int64_t offset(const FmhaBackwardPlace& place) {
    return blockIdx.z * place.batch + blockIdx.y * place.head;
  }
  template <class Kargs>
  CK_TILE_DEVICE static std::int32_t seqstart_q(const Kargs& kargs, unsigned b) {
    if constexpr (kTraits.varlen) return kargs.seqstart_q_ptr[b];
    return 0;
  }
  /// Of this workgroup's sequence.
  CK_TILE_DEVICE static index_t length(const std::int32_t* starts, const std::int32_t* lengths) {
    const unsigned b = blockIdx.z;
    return lengths != nullptr ? lengths[b] : starts[b + 1] - starts[b];
  }
  template <class T, class Pointer>
  CK_TILE_DEVICE static Pointer at(Pointer base, std::int64_t elements) {
    using Typed = std::conditional_t<std::is_same_v<Pointer, void*>, T*, const T*>;
    return static_cast<Typed>(base) + elements;
  }
  /// dbias where a mask has ck_tile leave tiles of rows out: it writes those of [begin, end) alone.
  template <class Kargs>
  CK_TILE_DEVICE static void zero_unseen(const Kargs& kargs, index_t rows, index_t keys, index_t first, index_t last) {
    const auto mask = ck_tile::make_generic_attention_mask_from_lr_window<Mask>(
        kargs.window_size_left, kargs.window_size_right, rows, keys,
        kargs.mask_type == ck_tile::GenericAttentionMaskEnum::MASK_FROM_TOP_LEFT);
    const auto seen = mask.GetTileRangeAlongY(first, ck_tile::number<kConfig.m0>{}, ck_tile::number<kConfig.n0>{});
    const index_t begin = ck_tile::min(seen.at(ck_tile::number<0>{}), rows);
    const index_t end = ck_tile::max(begin, seen.at(ck_tile::number<1>{}));
    const std::int64_t start = seqstart_q(kargs, blockIdx.z);
    zero<Q>(kargs.dbias_ptr, start, 0, begin, kargs.stride_dbias, first, last);
    zero<Q>(kargs.dbias_ptr, start, end, rows, kargs.stride_dbias, first, last);
  }
  template <class T>
  CK_TILE_DEVICE static void zero(void* to, std::int64_t start, index_t first, index_t last, index_t stride,
                                  index_t left, index_t right) {
    for (index_t row = first; row < last; ++row) {
      T* line = static_cast<T*>(to) + (start + row) * stride;
      for (index_t c = left + static_cast<index_t>(threadIdx.x); c < right; c += Kernel::kBlockSize)
        line[c] = ck_tile::type_convert<T>(0.0F);
    }
  }
};

}  // namespace ckgen::tile

/// Defines the device entries of an FmhaBackward.
#define CKGEN_TILE_FMHA_BACKWARD_KERNELS(dot_do_o, dq_dk_dv, Entry)                                     \
  extern "C" __global__ void __launch_bounds__((Entry::Kernel::kBlockSize), Entry::Kernel::kBlockPerCu) \
      dq_dk_dv(Entry::Args args) {                                                                      \
    Entry::run(args);                                                                                   \
  }                                                                                                     \
  extern "C" __global__ void __launch_bounds__((Entry::DotDoO::kBlockSize), Entry::DotDoO::kBlockPerCu) \
      dot_do_o(Entry::DotDoOArgs args) {                                                                \
    Entry::run_dot_do_o(args);                                                                          \
  }

/// The entry that rounds dQ, of a kernel that is not ordered.
#define CKGEN_TILE_FMHA_CONVERT_DQ_KERNEL(convert_dq, Entry)                                                  \
  extern "C" __global__ void __launch_bounds__((Entry::ConvertDq::kBlockSize), Entry::ConvertDq::kBlockPerCu) \
      convert_dq(Entry::ConvertDqArgs args) {                                                                 \
    Entry::run_convert_dq(args);                                                                              \
  }
