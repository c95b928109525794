// Launches of FmhaPaged: ck_tile's own arguments and grid. For host units alone, see fmha_launch.hpp.
#pragma once

#include "fmha_launch.hpp"
#include "fmha_paged.hpp"

namespace ckgen::tile {

/// ck_tile's arguments of a launch that check_fmha() passed.
template <FmhaTileConfig kConfig>
auto fmha_paged_kargs(const FmhaShape& shape, const FmhaArgs& a) {
  using Kernel = typename FmhaPaged<kConfig>::Kernel;
  const FmhaWindow window = window_of(kConfig.traits, shape);
  const bool alibi = kConfig.traits.bias == FmhaBias::alibi;
  const index_t stride_bias = narrow(alibi ? a.bias_strides.batch : a.bias_strides.row);
  constexpr float kOnDevice = 1.0F;  // scales that the kernel is given by FmhaPaged::run
  if constexpr (kConfig.traits.varlen) {
    // starts of keys are read, and not used where there are pages: those of Q are as good
    return Kernel::MakeKargsImpl(
        a.q, a.k, a.v, a.bias, nullptr, a.o, a.seqstart_q, a.seqstart_q, a.seqlen_k, shape.hdim_q, shape.hdim_v,
        shape.heads_q, shape.heads_q / shape.heads_k, a.block_table, narrow(a.block_table_stride), shape.page_size,
        /*sequences begin within a page*/ false, a.scale, kOnDevice, kOnDevice, a.softcap, narrow(a.q_strides.row),
        narrow(a.k_strides.row), narrow(a.v_strides.row), stride_bias, narrow(a.o_strides.row),
        narrow(a.q_strides.head), narrow(a.k_strides.head), narrow(a.v_strides.head), narrow(a.bias_strides.head), 0,
        narrow(a.o_strides.head), narrow(a.k_strides.batch), narrow(a.v_strides.batch), window.left, window.right,
        static_cast<index_t>(window.type), 0);
  } else {
    return Kernel::MakeKargsImpl(
        a.q, a.k, a.v, a.bias, nullptr, a.o, narrow(shape.seqlen_q), narrow(shape.seqlen_k), a.seqlen_k, shape.hdim_q,
        shape.hdim_v, shape.heads_q, shape.heads_q / shape.heads_k, a.block_table, narrow(a.block_table_stride),
        shape.page_size, nullptr, a.scale, kOnDevice, kOnDevice, a.softcap, narrow(a.q_strides.row),
        narrow(a.k_strides.row), narrow(a.v_strides.row), stride_bias, narrow(a.o_strides.row),
        narrow(a.q_strides.head), narrow(a.k_strides.head), narrow(a.v_strides.head), narrow(a.bias_strides.head), 0,
        narrow(a.o_strides.head), narrow(a.q_strides.batch), narrow(a.k_strides.batch), narrow(a.v_strides.batch),
        narrow(a.bias_strides.batch), 0, narrow(a.o_strides.batch), window.left, window.right,
        static_cast<index_t>(window.type));
  }
}

/// See prepare_fmha().
template <FmhaTileConfig kConfig>
struct FmhaPagedLaunch {
  using Entry = FmhaPaged<kConfig>;
  static constexpr FmhaTileConfig kTile = kConfig;

  static typename Entry::Args args(const Launch& launch) {
    const FmhaShape& shape = launch.problem->fmha();
    const FmhaArgs& a = *launch.fmha;
    return {fmha_paged_kargs<kConfig>(shape, a), nullptr, a.q_descale, a.k_descale, a.v_descale};
  }
  /// Kernels over sequences read the lengths of K, and expect the axes of the grid that go with that.
  static dim3 grid(const Launch& launch) {
    const FmhaShape& shape = launch.problem->fmha();
    return Entry::Kernel::GridSize(narrow(shape.batch), shape.heads_q, narrow(shape.seqlen_q), shape.hdim_v,
                                   kTile.traits.varlen);
  }
};

}  // namespace ckgen::tile
