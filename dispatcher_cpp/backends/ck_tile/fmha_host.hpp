// Launches of FmhaForward: ck_tile's own arguments and grid. For host units alone, see fmha_launch.hpp.
#pragma once

#include "fmha.hpp"
#include "fmha_launch.hpp"

#include <cstdint>
#include <utility>

namespace ckgen::tile {

/// ck_tile's arguments of a launch that check_fmha() passed.
template <FmhaTileConfig kConfig>
auto fmha_kargs(const FmhaShape& shape, const FmhaArgs& a) {
  using Kernel = typename FmhaForward<kConfig>::Kernel;
  const FmhaWindow window = window_of(kConfig.traits, shape);
  const bool alibi = kConfig.traits.bias == FmhaBias::alibi;
  const index_t stride_bias = narrow(alibi ? a.bias_strides.batch : a.bias_strides.row);
  constexpr float kOnDevice = 1.0F;  // scales that the kernel is given by FmhaForward::run
  const auto seeds = std::pair<std::uint64_t, std::uint64_t>(a.seed, a.offset);
  if constexpr (kConfig.traits.varlen) {
    return Kernel::MakeKargsImpl(
        a.q, a.k, a.v, a.bias, nullptr, a.lse, a.o, a.seqstart_q, a.seqstart_k, a.seqlen_q, a.seqlen_k, shape.hdim_q,
        shape.hdim_v, shape.heads_q, shape.heads_q / shape.heads_k, a.scale, kOnDevice, kOnDevice, a.softcap,
        narrow(a.q_strides.row), narrow(a.k_strides.row), narrow(a.v_strides.row), stride_bias, 0,
        narrow(a.o_strides.row), narrow(a.q_strides.head), narrow(a.k_strides.head), narrow(a.v_strides.head),
        narrow(a.bias_strides.head), 0, narrow(a.lse_head_stride), narrow(a.o_strides.head), window.left, window.right,
        static_cast<index_t>(window.type), 0, a.p_drop, false, seeds);
  } else {
    return Kernel::MakeKargsImpl(
        a.q, a.k, a.v, a.bias, nullptr, a.lse, a.o, narrow(shape.seqlen_q), narrow(shape.seqlen_k), shape.hdim_q,
        shape.hdim_v, shape.heads_q, shape.heads_q / shape.heads_k, a.scale, kOnDevice, kOnDevice, a.softcap,
        narrow(a.q_strides.row), narrow(a.k_strides.row), narrow(a.v_strides.row), stride_bias, 0,
        narrow(a.o_strides.row), narrow(a.q_strides.head), narrow(a.k_strides.head), narrow(a.v_strides.head),
        narrow(a.bias_strides.head), 0, narrow(a.lse_head_stride), narrow(a.o_strides.head), narrow(a.q_strides.batch),
        narrow(a.k_strides.batch), narrow(a.v_strides.batch), narrow(a.bias_strides.batch), 0,
        narrow(a.lse_batch_stride), narrow(a.o_strides.batch), window.left, window.right,
        static_cast<index_t>(window.type), a.p_drop, false, seeds);
  }
}

/// See prepare_fmha().
template <FmhaTileConfig kConfig>
struct FmhaForwardLaunch {
  using Entry = FmhaForward<kConfig>;
  static constexpr FmhaTileConfig kTile = kConfig;

  static typename Entry::Args args(const Launch& launch) {
    const FmhaShape& shape = launch.problem->fmha();
    const FmhaArgs& a = *launch.fmha;
    return {fmha_kargs<kConfig>(shape, a), kTile.traits.varlen ? nullptr : a.seqlen_k, a.q_descale, a.k_descale,
            a.v_descale};
  }
  /// ck_tile's kernels over sequences read their lengths themselves, and then expect other axes of the grid.
  static dim3 grid(const Launch& launch) {
    const FmhaShape& shape = launch.problem->fmha();
    return Entry::Kernel::GridSize(narrow(shape.batch), shape.heads_q, narrow(shape.seqlen_q), shape.hdim_v,
                                   kTile.traits.varlen && launch.fmha->seqlen_k != nullptr);
  }
};

}  // namespace ckgen::tile
