// The host side of our kernels of attention's gradients: what is refused of a call, and a kernel call for each stage.
// C++17, no HIP.
//
// Functions neither allocate nor follow a pointer; thread-safe.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <ckgen/device_code.hpp>
#include <ckgen/fmha.hpp>
#include <ckgen/problem.hpp>

#include "../device/fmha_first_stage.hpp"
#include "../device/fmha_pointers.hpp"
#include "../device/kernel_call.hpp"
#include "fmha_gradient_args.hpp"

namespace ckgen::hip {

/// One of the kernels of an instance.
struct FmhaGradientKernel {
  const char* symbol;
  FmhaTraits traits;
};

/// Rows of Q of all sequences, as one head of delta has them.
inline std::int64_t gradient_rows(const FmhaTraits& t, const FmhaShape& x) noexcept {
  return t.varlen && x.total_q != 0 ? x.total_q : x.batch * x.seqlen_q;
}

/// Tiles of so many rows or keys; one of none, as no grid is empty.
inline std::int64_t gradient_tiles(std::int64_t size) noexcept {
  return std::max<std::int64_t>((size + kScoreTile - 1) / kScoreTile, 1);
}

/// Bytes of Launch::workspace: delta; the largest number where 64 bits do not count them.
inline std::size_t fmha_gradients_workspace(const Problem& problem) noexcept {
  const FmhaShape& x = problem.fmha();
  const auto rows = static_cast<std::uint64_t>(gradient_rows(problem.signature().fmha, x));
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(rows, static_cast<std::uint64_t>(x.heads_q) * sizeof(float), &bytes))
    return std::numeric_limits<std::size_t>::max();
  return bytes;
}

inline Status check_gradient_pointers(const FmhaTraits& t, const FmhaShape& shape, const FmhaArgs& x) noexcept {
  const bool rows = shape.seqlen_q != 0, keys = shape.seqlen_k != 0;
  const device::FmhaPointer all[] = {{"q", x.q, rows},
                                     {"k", x.k, keys},
                                     {"v", x.v, keys},
                                     {"o", x.o, rows},
                                     {"lse", x.lse, rows},
                                     {"dout", x.dout, rows},
                                     {"dq", x.dq, rows},
                                     {"dk", x.dk, keys},
                                     {"dv", x.dv, keys},
                                     {"bias", x.bias, rows && keys && t.bias != FmhaBias::none},
                                     {"sink", x.sink, t.sink},
                                     {"rand_val", x.rand_val, rows && keys && t.dropout == FmhaDropout::randval},
                                     {"seqstart_q", x.seqstart_q, t.varlen},
                                     {"seqstart_k", x.seqstart_k, t.varlen}};
  return device::check_pointers(all);
}

/// Of arguments and sizes that were checked.
inline FmhaGradientArgs gradient_args(const FmhaTraits& t, const Launch& launch) noexcept {
  const FmhaShape& shape = launch.problem->fmha();
  const FmhaArgs& x = *launch.fmha;
  FmhaGradientArgs to{};
  to.q = x.q;
  to.k = x.k;
  to.v = x.v;
  to.o = x.o;
  to.dout = x.dout;
  to.lse = x.lse;
  to.bias = x.bias;
  to.sink = x.sink;
  to.rand_val = x.rand_val;
  to.delta = static_cast<float*>(launch.workspace);
  to.dq = x.dq;
  to.dk = x.dk;
  to.dv = x.dv;
  to.dbias = t.bias == FmhaBias::elementwise ? x.dbias : nullptr;
  to.dsink = t.sink ? x.dsink : nullptr;
  to.seqstart_q = x.seqstart_q;
  to.seqstart_k = x.seqstart_k;
  to.seqlen_q = x.seqlen_q;
  to.seqlen_k = x.seqlen_k;
  to.q_strides = x.q_strides;
  to.k_strides = x.k_strides;
  to.v_strides = x.v_strides;
  to.o_strides = x.o_strides;
  to.dout_strides = x.dout_strides;
  to.dq_strides = x.dq_strides;
  to.dk_strides = x.dk_strides;
  to.dv_strides = x.dv_strides;
  to.bias_strides = x.bias_strides;
  to.dbias_strides = x.dbias_strides;
  to.rand_val_strides = x.rand_val_strides;
  to.lse_strides = {1, x.lse_head_stride, x.lse_batch_stride};
  const std::int64_t rows = t.varlen ? gradient_rows(t, shape) : shape.seqlen_q;
  to.delta_strides = {1, rows, rows * shape.heads_q};
  to.seed = x.seed;
  to.offset = x.offset;
  to.batch = static_cast<std::int32_t>(shape.batch);
  to.heads_q = shape.heads_q;
  to.heads_k = shape.heads_k;
  to.seqlen_of_q = static_cast<std::int32_t>(shape.seqlen_q);
  to.seqlen_of_k = static_cast<std::int32_t>(shape.seqlen_k);
  to.hdim_q = shape.hdim_q;
  to.hdim_v = shape.hdim_v;
  to.window_left = shape.window_left;
  to.window_right = shape.window_right;
  to.sink_tokens = shape.sink_tokens;
  to.most_kept = static_cast<std::int32_t>(std::floor((1.0F - x.p_drop) * 255.0F));
  to.key_tiles = static_cast<std::int32_t>(gradient_tiles(shape.seqlen_k));
  to.scale = x.scale;
  to.softcap = x.softcap;
  to.kept_factor = 1.0F / (1.0F - x.p_drop);
  to.top_left = shape.corner == FmhaCorner::top_left;
  to.shares_rows = x.bias_strides.row == 0;
  to.shares_heads = x.bias_strides.head == 0;
  // sequences of varlen have rows of their own, or all share one
  to.shares_batch = t.varlen ? to.shares_rows : x.bias_strides.batch == 0;
  return to;
}

/// What a stage's workgroups are: tiles of rows or keys by heads by sequences.
enum class GradientGrid : std::uint8_t { rows, keys, bias, heads };

/// Whether the kernels take the launch: all of them, so that none runs before all of it was checked.
inline Status check_gradients(const FmhaTraits& traits, const Launch& launch) noexcept {
  const FmhaShape& shape = launch.problem->fmha();
  constexpr std::int64_t kMostGrid = 65535;  // along y and z, as HIP's devices say
  constexpr std::int64_t kMostRows = std::numeric_limits<std::int32_t>::max() - kScoreTile;
  if (const Status status = check_gradient_pointers(traits, shape, *launch.fmha); !status.ok()) return status;
  if (shape.batch > kMostGrid || shape.heads_q > kMostGrid)
    return Status::error(StatusCode::unsupported, "%d heads of %lld sequences: HIP takes grids of %lld along y and z",
                         shape.heads_q, static_cast<long long>(shape.batch), static_cast<long long>(kMostGrid));
  if (shape.seqlen_q > kMostRows || shape.seqlen_k > kMostRows)
    return Status::error(StatusCode::unsupported, "sequences of %lld rows and %lld keys, the kernels count to %lld",
                         static_cast<long long>(shape.seqlen_q), static_cast<long long>(shape.seqlen_k),
                         static_cast<long long>(kMostRows));
  return Status::success();
}

/// PrepareFn of one of the kernels behind the first.
inline Status prepare_gradients(const FmhaGradientKernel& kernel, GradientGrid of, const Launch& launch,
                                KernelCall& out) noexcept {
  const FmhaShape& shape = launch.problem->fmha();
  const FmhaGradientArgs args = gradient_args(kernel.traits, launch);
  const auto tiles = [](std::int64_t size) { return static_cast<std::uint64_t>(gradient_tiles(size)); };
  const auto batch = static_cast<std::uint64_t>(shape.batch), heads = static_cast<std::uint64_t>(shape.heads_q);
  device::Extent grid;
  switch (of) {
    case GradientGrid::rows: grid = {tiles(shape.seqlen_q), heads, batch}; break;
    case GradientGrid::keys: grid = {tiles(shape.seqlen_k), static_cast<std::uint64_t>(shape.heads_k), batch}; break;
    case GradientGrid::bias:
      grid = {tiles(shape.seqlen_k) * (args.shares_rows ? 1 : tiles(shape.seqlen_q)), args.shares_heads ? 1 : heads,
              args.shares_batch ? 1 : batch};
      break;
    case GradientGrid::heads: grid = {heads, 1, 1}; break;
  }
  return device::fill(out, kernel.symbol, grid, device::Extent{kScoreThreads, 1, 1}, 0, args);
}

/// PrepareFn of the kernel of delta.
inline Status prepare_delta(const FmhaGradientKernel& kernel, const Launch& launch, KernelCall& out) noexcept {
  if (const Status status = check_gradients(kernel.traits, launch); !status.ok()) return status;
  return prepare_gradients(kernel, GradientGrid::rows, launch, out);
}

/// PrepareFn of that of dK and dV.
inline Status prepare_dk_dv(const FmhaGradientKernel& kernel, const Launch& launch, KernelCall& out) noexcept {
  if (device::kernel_is_first(launch.problem->fmha())) {
    if (const Status status = check_gradients(kernel.traits, launch); !status.ok()) return status;
  }
  return prepare_gradients(kernel, GradientGrid::keys, launch, out);
}

}  // namespace ckgen::hip
