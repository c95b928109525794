// Our kernels around a shipped one of attention's gradients: delta and lse without gaps before it, zeros behind both,
// and dQ, rounded, behind it. C++20, compiled as HIP.
//
// Shipped kernels for sequences one after the other leave out a sequence that has no row: its dK and dV, which are 0,
// are written with delta.
#pragma once

#include <cstdint>

#include <hip/hip_runtime.h>

#include "fmha_gradients.hpp"
#include "fmha_shipped_args.hpp"

namespace ckgen::hip {

template <DType kType, FmhaTraits kTraits>
struct ShippedGradientStages {
  using Gradients = FmhaGradients<kType, kTraits, 64>;
  using Element = typename Gradients::Element;
  static constexpr int kLanes = 64;

  /// 64 rows of a query head. The workgroups of a head of a sequence without rows take its keys in turn.
  __device__ static void delta(const ShippedDeltaArgs& a) {
    const FmhaGradientArgs& x = a.gradients;
    Gradients::delta(x);
    const GradientSequence s = gradient_sequence<kTraits>(x, static_cast<std::int32_t>(blockIdx.z));
    const auto head = static_cast<std::int32_t>(blockIdx.y);
    const std::int64_t row = std::int64_t{blockIdx.x} * kScoreTile + threadIdx.x;
    if (threadIdx.x < kScoreTile && row < s.rows)
      a.lse[gradient_place<kTraits>(s, x.delta_strides, s.first_row, head, row)] =
          x.lse[gradient_place<kTraits>(s, x.lse_strides, s.first_row, head, row)];
    if (blockIdx.x + blockIdx.y + blockIdx.z == 0 && threadIdx.x < kBehind) {
      for (float* const end : a.ends) end[threadIdx.x] = 0.0F;
    }
    if constexpr (kTraits.varlen) {
      if (s.rows != 0) return;
      constexpr int kWaves = kScoreThreads / kLanes;
      const int lane = static_cast<int>(threadIdx.x) % kLanes, wave = static_cast<int>(threadIdx.x) / kLanes;
      for (std::int64_t key = std::int64_t{blockIdx.x} * kWaves + wave; key < s.keys; key += gridDim.x * kWaves) {
        const std::int64_t of_dk = gradient_place<kTraits>(s, x.dk_strides, s.first_key, head, key);
        const std::int64_t of_dv = gradient_place<kTraits>(s, x.dv_strides, s.first_key, head, key);
        for (int column = lane; column < x.hdim_q; column += kLanes) Element::store(x.dk, of_dk + column, 0.0F);
        for (int column = lane; column < x.hdim_v; column += kLanes) Element::store(x.dv, of_dv + column, 0.0F);
      }
    }
  }

  /// A workgroup of four waves takes 16 rows of a head; a wave a row at a time, a lane columns.
  __device__ static void round_dq(const RoundDqArgs& a) {
    constexpr int kWaves = kRoundLanes / kLanes;
    const std::int64_t b = blockIdx.z, head = blockIdx.y;
    const std::int64_t start = kTraits.varlen ? a.seqstart[b] : 0;
    const std::int64_t rows = kTraits.varlen ? a.seqstart[b + 1] - start : a.rows;
    const auto place = [&](const FmhaStrides& strides, std::int64_t row) {
      return (kTraits.varlen ? 0 : b * strides.batch) + head * strides.head + (start + row) * strides.row;
    };
    const int lane = static_cast<int>(threadIdx.x) % kLanes, wave = static_cast<int>(threadIdx.x) / kLanes;
    const std::int64_t first = std::int64_t{blockIdx.x} * kRoundRows, last = first + kRoundRows;
    for (std::int64_t row = first + wave; row < last && row < rows; row += kWaves) {
      const float* const from = a.sums + place(a.sum_strides, row);
      const std::int64_t to = place(a.dq_strides, row);
      for (int column = lane; column < a.columns; column += kLanes) Element::store(a.dq, to + column, from[column]);
    }
  }
};

}  // namespace ckgen::hip

/// Defines the kernels `dot_do_o` and `convert_dq` of a ShippedGradientStages.
#define CKGEN_FMHA_SHIPPED_STAGES(dot_do_o, convert_dq, Stages)                                                    \
  extern "C" __global__ void __launch_bounds__(ckgen::hip::kScoreThreads)                                          \
      dot_do_o(ckgen::hip::ShippedDeltaArgs args) {                                                                \
    Stages::delta(args);                                                                                           \
  }                                                                                                                \
  extern "C" __global__ void __launch_bounds__(ckgen::hip::kRoundLanes) convert_dq(ckgen::hip::RoundDqArgs args) { \
    Stages::round_dq(args);                                                                                        \
  }
