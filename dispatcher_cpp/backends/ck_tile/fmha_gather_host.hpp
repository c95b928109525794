// Launches of FmhaGather: ck_tile's own arguments, grid, and LDS. For host units alone, see fmha_launch.hpp.
#pragma once

#include "fmha_gather.hpp"
#include "fmha_launch.hpp"

#include <utility>

namespace ckgen::tile {

/// ck_tile's arguments of a launch that check_fmha() passed.
template <FmhaTileConfig kConfig>
auto fmha_gather_kargs(const FmhaShape& shape, const FmhaArgs& a, const FmhaCacheRows& rows) {
  using Kernel = typename FmhaGather<kConfig>::Kernel;
  const FmhaWindow window = window_of(kConfig.traits, shape);
  const bool alibi = kConfig.traits.bias == FmhaBias::alibi;
  const index_t stride_bias = narrow(alibi ? a.bias_strides.batch : a.bias_strides.row);
  const auto seeds = std::pair<std::uint64_t, std::uint64_t>(a.seed, a.offset);
  const index_t all = narrow(shape.pages * rows.per_page);
  if constexpr (kConfig.traits.varlen) {
    return Kernel::MakeKargs(a.q, a.k, a.v, a.bias, nullptr, a.lse, a.o, a.seqstart_q, shape.hdim_q, shape.hdim_v,
                             shape.heads_q, shape.heads_q / shape.heads_k, all, nullptr, nullptr, a.scale, 1.0F, 1.0F,
                             a.softcap, narrow(a.q_strides.row), narrow(rows.stride_k), narrow(rows.stride_v),
                             stride_bias, 0, narrow(a.o_strides.row), narrow(a.q_strides.head),
                             narrow(a.k_strides.head), narrow(a.v_strides.head), narrow(a.bias_strides.head), 0,
                             narrow(a.lse_head_stride), narrow(a.o_strides.head), 0, 0, window.left, window.right,
                             static_cast<index_t>(window.type), a.p_drop, false, seeds);
  } else {
    return Kernel::MakeKargs(a.q, a.k, a.v, a.bias, nullptr, a.lse, a.o, narrow(shape.seqlen_q), shape.hdim_q,
                             shape.hdim_v, shape.heads_q, shape.heads_q / shape.heads_k, all, nullptr, nullptr, a.scale,
                             1.0F, 1.0F, a.softcap, narrow(a.q_strides.row), narrow(rows.stride_k),
                             narrow(rows.stride_v), stride_bias, 0, narrow(a.o_strides.row), narrow(a.q_strides.head),
                             narrow(a.k_strides.head), narrow(a.v_strides.head), narrow(a.bias_strides.head), 0,
                             narrow(a.lse_head_stride), narrow(a.o_strides.head), narrow(a.q_strides.batch), 0, 0,
                             narrow(a.bias_strides.batch), 0, narrow(a.lse_batch_stride), narrow(a.o_strides.batch),
                             window.left, window.right, static_cast<index_t>(window.type), a.p_drop, false, seeds);
  }
}

/// See prepare_fmha().
template <FmhaTileConfig kConfig>
struct FmhaGatherLaunch {
  using Entry = FmhaGather<kConfig>;
  static constexpr FmhaTileConfig kTile = kConfig;

  static typename Entry::Args args(const Launch& launch) {
    const FmhaShape& shape = launch.problem->fmha();
    const FmhaArgs& a = *launch.fmha;
    const FmhaCacheRows rows = cache_rows(shape, a);
    const bool list = kTile.traits.kv == FmhaKv::page_list;
    return {fmha_gather_kargs<kConfig>(shape, a, rows),
            {list ? a.kv_pages : a.block_table, a.kv_indptr, a.kv_last_page, a.seqlen_k, a.block_table_stride,
             shape.page_size, narrow(rows.per_page), narrow(shape.seqlen_k)}};
  }
  static dim3 grid(const Launch& launch) {
    const FmhaShape& shape = launch.problem->fmha();
    return Entry::Kernel::GridSize(narrow(shape.batch), shape.heads_q, narrow(shape.seqlen_q), shape.hdim_v);
  }
  /// Where the rows of a sequence's keys are noted.
  static std::uint32_t dynamic_lds(const FmhaShape& shape) {
    return static_cast<std::uint32_t>(noted_rows(shape, kTile.n0, kTile.k1) * sizeof(std::int32_t));
  }
};

}  // namespace ckgen::tile
