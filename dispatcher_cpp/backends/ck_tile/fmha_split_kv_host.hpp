// Launches of FmhaSplitKv: ck_tile's own arguments and grid, and the kernel behind it. For host units alone, see
// fmha_launch.hpp.
#pragma once

#include "fmha_launch.hpp"
#include "fmha_split_kv.hpp"

#include <cstdint>
#include <limits>

#include "../device/fmha_stages.hpp"

namespace ckgen::tile {

/// Distances in partial rows of a launch.
struct FmhaPartialStrides {
  std::int64_t head, batch, split;
};

inline FmhaPartialStrides partial_strides(const Problem& problem) noexcept {
  const FmhaShape& x = problem.fmha();
  const bool varlen = problem.signature().fmha.varlen;
  const std::int64_t head = !varlen ? x.seqlen_q : x.total_q != 0 ? x.total_q : x.batch * x.seqlen_q;
  return {head, head * x.heads_q, head * x.heads_q * (varlen ? 1 : x.batch)};
}

/// ck_tile's arguments of a launch that check_fmha() and FmhaSplitKvLaunch::check() passed.
template <FmhaTileConfig kConfig>
auto fmha_split_kv_kargs(const Launch& launch) {
  using Kernel = typename FmhaSplitKv<kConfig>::Kernel;
  const FmhaShape& shape = launch.problem->fmha();
  const FmhaArgs& a = *launch.fmha;
  const FmhaWindow window = window_of(kConfig.traits, shape);
  const bool alibi = kConfig.traits.bias == FmhaBias::alibi;
  const index_t stride_bias = narrow(alibi ? a.bias_strides.batch : a.bias_strides.row);
  const index_t splits = launch.k_batch == 0 ? 1 : static_cast<index_t>(launch.k_batch);
  const FmhaPartialStrides rows = partial_strides(*launch.problem);
  const index_t hdim = shape.hdim_v;
  float* lse_acc =
      device::fmha_partials(*launch.instance, *launch.problem, launch.k_batch, true).lse_of(launch.workspace);
  constexpr float kOnDevice = 1.0F;  // a scale that the kernel is given by FmhaSplitKv::run
  if constexpr (kConfig.traits.varlen) {
    // starts of keys are read, and not used where there are pages: those of Q are as good
    const std::int32_t* starts = FmhaSplitKv<kConfig>::kPages ? a.seqstart_q : a.seqstart_k;
    return Kernel::MakeKargs(
        a.q, a.k, a.v, a.bias, lse_acc, launch.workspace, narrow(shape.batch), a.seqstart_q, starts, a.seqlen_k,
        shape.hdim_q, shape.hdim_v, shape.heads_q, shape.heads_q / shape.heads_k, splits, a.block_table,
        narrow(a.block_table_stride), shape.page_size, /*sequences begin within a page*/ false, a.scale, kOnDevice,
        a.softcap, narrow(a.q_strides.row), narrow(a.k_strides.row), narrow(a.v_strides.row), stride_bias, hdim,
        narrow(a.q_strides.head), narrow(a.k_strides.head), narrow(a.v_strides.head), narrow(a.bias_strides.head),
        narrow(rows.head), narrow(rows.head * hdim), narrow(a.k_strides.batch), narrow(a.v_strides.batch),
        narrow(rows.split), narrow(rows.split * hdim), window.left, window.right, static_cast<index_t>(window.type));
  } else {
    return Kernel::MakeKargs(
        a.q, a.k, a.v, a.bias, lse_acc, launch.workspace, narrow(shape.batch), narrow(shape.seqlen_q),
        narrow(shape.seqlen_k), a.seqlen_k, shape.hdim_q, shape.hdim_v, shape.heads_q, shape.heads_q / shape.heads_k,
        splits, a.block_table, narrow(a.block_table_stride), shape.page_size, nullptr, a.scale, kOnDevice, a.softcap,
        narrow(a.q_strides.row), narrow(a.k_strides.row), narrow(a.v_strides.row), stride_bias, hdim,
        narrow(a.q_strides.head), narrow(a.k_strides.head), narrow(a.v_strides.head), narrow(a.bias_strides.head),
        narrow(rows.head), narrow(rows.head * hdim), narrow(a.q_strides.batch), narrow(a.k_strides.batch),
        narrow(a.v_strides.batch), narrow(a.bias_strides.batch), narrow(rows.batch), narrow(rows.batch * hdim),
        narrow(rows.split), narrow(rows.split * hdim), window.left, window.right, static_cast<index_t>(window.type));
  }
}

/// See prepare_fmha().
template <FmhaTileConfig kConfig>
struct FmhaSplitKvLaunch {
  using Entry = FmhaSplitKv<kConfig>;
  static constexpr FmhaTileConfig kTile = kConfig;
  static constexpr bool kSplits = true;

  static Status check(const Launch& launch) noexcept {
    const FmhaShape& shape = launch.problem->fmha();
    if (launch.fmha->seqlen_q != nullptr)
      return Status::error(StatusCode::unsupported, "seqlen_q: the kernel has lengths of Q from seqstart_q alone");
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
    const std::int64_t splits = launch.k_batch == 0 ? 1 : launch.k_batch, rows = partial_strides(*launch.problem).split;
    if (rows > kMost / (splits * shape.hdim_v))
      return Status::error(StatusCode::unsupported,
                           "%lld splits of %lld rows of partial results of %d: ck_tile counts in 32 bits",
                           static_cast<long long>(splits), static_cast<long long>(rows), shape.hdim_v);
    return Status::success();
  }
  static typename Entry::Args args(const Launch& launch) {
    const FmhaArgs& a = *launch.fmha;
    return {fmha_split_kv_kargs<kConfig>(launch), nullptr, a.q_descale, a.k_descale, a.v_descale};
  }
  static dim3 grid(const Launch& launch) {
    const FmhaShape& shape = launch.problem->fmha();
    return Entry::Kernel::GridSize(narrow(shape.batch), shape.heads_q, shape.heads_k, narrow(shape.seqlen_q),
                                   shape.hdim_v, launch.k_batch == 0 ? 1 : static_cast<index_t>(launch.k_batch));
  }
};

}  // namespace ckgen::tile
