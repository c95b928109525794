// Launches of the kernels of FmhaBackward: ck_tile's own arguments and grids, over the workspace that they share.
//
// For host units (`-x hip --cuda-host-only`) only. Nothing of HIP is left to be linked.
#pragma once

#include "fmha_backward.hpp"
#include "fmha_backward_limits.hpp"
#include "fmha_window.hpp"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <utility>

#include "../device/fmha_backward_room.hpp"
#include "../device/fmha_first_stage.hpp"
#include "../device/fmha_sum_parts_args.hpp"
#include "scaled.hpp"

namespace ckgen::tile {

/// The instance's kernels, and the archs whose code object has them, see archs_of(). sum_heads null: there is none.
struct BuiltFmhaBackward {
  const char* dot_do_o;
  const char* dq_dk_dv;
  const char* sum_heads;
  const char* convert_dq;
  std::uint32_t archs;
};

/// Keys of a part of dQ; 0: dQ is one sum.
constexpr std::int32_t parts_tile(const FmhaBackwardTile& config) noexcept {
  return config.ordered ? config.n0 : 0;
}

/// A launch on its way to a KernelCall, with what its stages share.
template <FmhaBackwardTile kConfig>
class FmhaBackwardLaunch {
 public:
  using Entry = FmhaBackward<kConfig>;
  static constexpr bool kVarlen = kConfig.traits.varlen;

  explicit FmhaBackwardLaunch(const Launch& launch) noexcept
      : x_(launch.problem->fmha()),
        a_(*launch.fmha),
        room_(device::FmhaBackwardRoom::of(*launch.problem, kConfig.grouped, parts_tile(kConfig))),
        workspace_(static_cast<char*>(launch.workspace)),
        rows_(kVarlen ? device::FmhaBackwardRoom::rows_of(*launch.problem) : x_.seqlen_q) {}

  typename Entry::DotDoOArgs dot_do_o() const {
    using Kernel = typename Entry::DotDoO;
    const float kept = 1.0F - (kConfig.traits.dropout == FmhaDropout::none ? 0.0F : a_.p_drop);
    if constexpr (kVarlen) {
      return {Kernel::MakeKargs(a_.o, a_.dout, delta(), kept, a_.seqstart_q, a_.seqlen_q, nullptr, x_.hdim_v,
                                narrow(a_.dout_strides.row), narrow(a_.o_strides.row), narrow(a_.dout_strides.head),
                                narrow(a_.o_strides.head), 0),
              of_rows(1)};
    } else {
      return {
          Kernel::MakeKargs(a_.o, a_.dout, delta(), kept, narrow(x_.seqlen_q), x_.hdim_v, narrow(a_.dout_strides.row),
                            narrow(a_.o_strides.row), narrow(a_.dout_strides.head), narrow(a_.o_strides.head), 0,
                            narrow(a_.dout_strides.batch), narrow(a_.o_strides.batch), 0),
          of_rows(1)};
    }
  }
  typename Entry::Args dq_dk_dv() const {
    const std::int64_t keys = x_.seqlen_k;
    typename Entry::Args args{kargs(), kVarlen ? nullptr : a_.seqlen_k, {}, {}, {}, {}, {}, 0, {}, {}};
    if constexpr (Entry::kBiased) {
      args.bias = {a_.bias_strides.head, kVarlen ? 0 : a_.bias_strides.batch};
      args.dbias = {a_.dbias_strides.head, kVarlen ? 0 : a_.dbias_strides.batch};
    }
    args.lse = {a_.lse_head_stride, kVarlen ? 0 : a_.lse_batch_stride};
    args.delta = of_rows(1);
    if constexpr (kConfig.ordered) {
      args.dq_part = x_.seqlen_q * x_.hdim_q;
      args.dq.head = dq_parts() * args.dq_part;
      args.dq.batch = x_.heads_q * args.dq.head;
    } else {
      args.dq = of_rows(x_.hdim_q);
    }
    if constexpr (kConfig.grouped) {
      args.dk = {keys * x_.hdim_q, keys * x_.heads_q * x_.hdim_q};
      args.dv = {keys * x_.hdim_v, keys * x_.heads_q * x_.hdim_v};
    } else {
      args.dk = {a_.dk_strides.head, kVarlen ? 0 : a_.dk_strides.batch};
      args.dv = {a_.dv_strides.head, kVarlen ? 0 : a_.dv_strides.batch};
    }
    return args;
  }
  device::FmhaSumPartsArgs sum_heads() const noexcept {
    return {{{dk_parts(), a_.dk, a_.dk_strides, x_.hdim_q}, {dv_parts(), a_.dv, a_.dv_strides, x_.hdim_v}},
            kVarlen ? a_.seqstart_k : nullptr,
            a_.seqlen_k,
            x_.seqlen_k,
            x_.heads_k,
            x_.heads_q / x_.heads_k};
  }
  device::FmhaSumPartsArgs sum_dq() const noexcept {
    return {{{reinterpret_cast<const float*>(workspace_), a_.dq, a_.dq_strides, x_.hdim_q}, {nullptr, nullptr, {}, 0}},
            kVarlen ? a_.seqstart_q : nullptr,
            kVarlen ? a_.seqlen_q : nullptr,
            x_.seqlen_q,
            x_.heads_q,
            dq_parts()};
  }
  typename Entry::ConvertDqArgs convert_dq() const {
    using Kernel = typename Entry::ConvertDq;
    if constexpr (kVarlen) {
      return {
          Kernel::MakeKargs(workspace_, a_.dq, a_.seqstart_q, a_.seqstart_k, a_.seqlen_q, a_.seqlen_k, nullptr, nullptr,
                            x_.hdim_q, narrow(a_.dq_strides.row), x_.hdim_q, narrow(a_.dq_strides.head), 0, 0),
          of_rows(x_.hdim_q)};
    } else {
      return {Kernel::MakeKargs(workspace_, a_.dq, narrow(x_.seqlen_q), narrow(x_.seqlen_k), x_.hdim_q,
                                narrow(a_.dq_strides.row), x_.hdim_q, narrow(a_.dq_strides.head), 0,
                                narrow(a_.dq_strides.batch), 0, 0),
              of_rows(x_.hdim_q)};
    }
  }

 private:
  /// Of what has `columns` numbers for each row of Q.
  FmhaBackwardPlace of_rows(std::int64_t columns) const noexcept {
    return {rows_ * columns, kVarlen ? 0 : rows_ * x_.heads_q * columns};
  }
  std::int64_t dq_parts() const noexcept { return device::FmhaBackwardRoom::parts_of(x_, kConfig.n0); }
  float* delta() const noexcept { return reinterpret_cast<float*>(workspace_ + room_.delta); }
  float* dk_parts() const noexcept { return reinterpret_cast<float*>(workspace_ + room_.dk); }
  float* dv_parts() const noexcept { return reinterpret_cast<float*>(workspace_ + room_.dv); }
  static constexpr index_t narrow(std::int64_t size) noexcept { return static_cast<index_t>(size); }

  /// Distances of heads and batch entries that FmhaBackward::run adds in 64 bits are 0 here.
  auto kargs() const {
    using Kernel = typename Entry::Kernel;
    const FmhaWindow window = window_of(kConfig.traits, x_);
    void* const dk = kConfig.grouped ? dk_parts() : a_.dk;
    void* const dv = kConfig.grouped ? dv_parts() : a_.dv;
    const index_t dk_row = kConfig.grouped ? x_.hdim_q : narrow(a_.dk_strides.row);
    const index_t dv_row = kConfig.grouped ? x_.hdim_v : narrow(a_.dv_strides.row);
    const index_t of_bias = narrow(Entry::kBiased ? a_.bias_strides.row : a_.bias_strides.batch);  // rows, or slopes
    const index_t of_dbias = Entry::kBiased ? narrow(a_.dbias_strides.row) : 0;
    const auto seeds = std::pair<std::uint64_t, std::uint64_t>(a_.seed, a_.offset);
    if constexpr (kVarlen) {
      return Kernel::MakeKargsImpl(a_.q, a_.k, a_.v, a_.bias, a_.lse, a_.dout, delta(), nullptr, dk, dv, a_.dbias,
                                   workspace_, a_.seqstart_q, a_.seqstart_k, a_.seqlen_q, a_.seqlen_k, nullptr, nullptr,
                                   x_.hdim_q, x_.hdim_v, x_.heads_q, x_.heads_q / x_.heads_k, a_.scale,
                                   narrow(a_.q_strides.row), narrow(a_.k_strides.row), narrow(a_.v_strides.row),
                                   of_bias, 0, narrow(a_.dout_strides.row), x_.hdim_q, dk_row, dv_row, of_dbias,
                                   narrow(a_.q_strides.head), narrow(a_.k_strides.head), narrow(a_.v_strides.head), 0,
                                   0, narrow(a_.dout_strides.head), 0, 0, 0, 0, 0, 0, window.left, window.right,
                                   static_cast<index_t>(window.type), a_.p_drop, seeds);
    } else {
      return Kernel::MakeKargsImpl(
          a_.q, a_.k, a_.v, a_.bias, a_.lse, a_.dout, delta(), nullptr, dk, dv, a_.dbias, workspace_,
          narrow(x_.seqlen_q), narrow(x_.seqlen_k), x_.hdim_q, x_.hdim_v, x_.heads_q, x_.heads_q / x_.heads_k, a_.scale,
          narrow(a_.q_strides.row), narrow(a_.k_strides.row), narrow(a_.v_strides.row), of_bias, 0,
          narrow(a_.dout_strides.row), x_.hdim_q, dk_row, dv_row, of_dbias, narrow(a_.q_strides.head),
          narrow(a_.k_strides.head), narrow(a_.v_strides.head), 0, 0, narrow(a_.dout_strides.head), 0, 0, 0, 0, 0,
          narrow(a_.q_strides.batch), narrow(a_.k_strides.batch), narrow(a_.v_strides.batch), 0, 0,
          narrow(a_.dout_strides.batch), 0, 0, 0, 0, 0, 0, window.left, window.right, static_cast<index_t>(window.type),
          a_.p_drop, seeds);
    }
  }

  const FmhaShape& x_;
  const FmhaArgs& a_;
  device::FmhaBackwardRoom room_;
  char* workspace_;
  std::int64_t rows_;  // from head to head, of what has rows of Q
};

/// Whether the kernels take the launch: all of them, so that none runs before all of it was checked.
template <FmhaBackwardTile kConfig>
Status check_fmha_backward(const BuiltFmhaBackward& built, const Launch& launch, Arch arch) noexcept {
  const FmhaShape& x = launch.problem->fmha();
  if ((built.archs & archs_of(arch)) == 0)
    return Status::error(StatusCode::unsupported, "no kernel was built for %s", arch_info(arch).name);
  const FmhaBackwardLimits limits{kConfig.type, kConfig.traits, kConfig.hdim, kConfig.pad, kConfig.grouped};
  if (const Status status = check_fmha_backward(limits, x, *launch.fmha); !status.ok()) return status;
  if (static_cast<std::uint64_t>(x.batch) > kMostFmhaGrid || static_cast<std::uint32_t>(x.heads_q) > kMostFmhaGrid)
    return Status::error(StatusCode::unsupported, "%d heads of %lld sequences: HIP takes grids of %u along y and z",
                         x.heads_q, static_cast<long long>(x.batch), kMostFmhaGrid);
  return Status::success();
}

/// PrepareFn of one of the stages, whose tiles of `rows` rows of Q or K make up the grid with `heads`.
template <FmhaBackwardTile kConfig, class MakeArgs>
Status prepare_fmha_backward(const char* symbol, const Launch& launch, Arch arch, std::int64_t rows, std::int64_t tile,
                             std::int32_t heads, std::uint32_t threads, KernelCall& out, MakeArgs make_args) noexcept
    try {
  const FmhaShape& x = launch.problem->fmha();
  const PlanFor plan{arch};
  const auto tiles = static_cast<std::uint64_t>(std::max<std::int64_t>((rows + tile - 1) / tile, 1));
  const device::Extent grid{tiles, static_cast<std::uint64_t>(heads), static_cast<std::uint64_t>(x.batch)};
  return device::fill(out, symbol, grid, device::Extent{threads, 1, 1}, 0,
                      make_args(FmhaBackwardLaunch<kConfig>(launch)));
} catch (const std::exception& error) {
  return Status::error(StatusCode::internal, "ck_tile's host code failed: %s", error.what());
}

template <FmhaBackwardTile kConfig>
Status prepare_dot_do_o(const BuiltFmhaBackward& built, const Launch& launch, Arch arch, KernelCall& out) noexcept {
  using Kernel = typename FmhaBackward<kConfig>::DotDoO;
  const FmhaShape& x = launch.problem->fmha();
  if (const Status status = check_fmha_backward<kConfig>(built, launch, arch); !status.ok()) return status;
  return prepare_fmha_backward<kConfig>(built.dot_do_o, launch, arch, x.seqlen_q, Kernel::kM0, x.heads_q,
                                        Kernel::kBlockSize, out, [](const auto& of) { return of.dot_do_o(); });
}

template <FmhaBackwardTile kConfig>
Status prepare_dq_dk_dv(const BuiltFmhaBackward& built, const Launch& launch, Arch arch, KernelCall& out) noexcept {
  using Kernel = typename FmhaBackward<kConfig>::Kernel;
  const FmhaShape& x = launch.problem->fmha();
  if (device::kernel_is_first(x)) {
    if (const Status status = check_fmha_backward<kConfig>(built, launch, arch); !status.ok()) return status;
  }
  return prepare_fmha_backward<kConfig>(built.dq_dk_dv, launch, arch, x.seqlen_k, kConfig.n0, x.heads_q,
                                        Kernel::kBlockSize, out, [](const auto& of) { return of.dq_dk_dv(); });
}

template <FmhaBackwardTile kConfig>
Status prepare_sum_heads(const BuiltFmhaBackward& built, const Launch& launch, Arch arch, KernelCall& out) noexcept {
  const FmhaShape& x = launch.problem->fmha();
  return prepare_fmha_backward<kConfig>(built.sum_heads, launch, arch, x.seqlen_k, device::kSumRows, x.heads_k,
                                        device::kSumLanes, out, [](const auto& of) { return of.sum_heads(); });
}

template <FmhaBackwardTile kConfig>
Status prepare_convert_dq(const BuiltFmhaBackward& built, const Launch& launch, Arch arch, KernelCall& out) noexcept {
  const FmhaShape& x = launch.problem->fmha();
  if constexpr (kConfig.ordered)
    return prepare_fmha_backward<kConfig>(built.convert_dq, launch, arch, x.seqlen_q, device::kSumRows, x.heads_q,
                                          device::kSumLanes, out, [](const auto& of) { return of.sum_dq(); });
  using Kernel = typename FmhaBackward<kConfig>::ConvertDq;
  return prepare_fmha_backward<kConfig>(built.convert_dq, launch, arch, x.seqlen_q, Kernel::kM0, x.heads_q,
                                        Kernel::kBlockSize, out, [](const auto& of) { return of.convert_dq(); });
}

}  // namespace ckgen::tile
