// Our kernels around a shipped one of attention's gradients: delta before it, and dQ, rounded, behind it. C++20,
// compiled as HIP.
//
// Shipped kernels for sequences one after the other leave out a sequence that has no row: its dK and dV, which are 0,
// are written with delta.
#pragma once

#include <cstdint>

#include <hip/hip_runtime.h>

#include "../device/fmha_round_dq_args.hpp"
#include "fmha_gradients.hpp"

namespace ckgen::hip {

template <DType kType, FmhaTraits kTraits>
struct ShippedGradientStages {
  using Gradients = FmhaGradients<kType, kTraits, 64>;
  using Element = typename Gradients::Element;
  static constexpr int kLanes = 64;

  /// The workgroups of a head of a sequence without rows take keys in turn.
  __device__ static void delta(const FmhaGradientArgs& x) {
    Gradients::delta(x);
    if constexpr (kTraits.varlen) {
      const GradientSequence s = gradient_sequence<kTraits>(x, static_cast<std::int32_t>(blockIdx.z));
      if (s.rows != 0) return;
      constexpr int kWaves = kScoreThreads / kLanes;
      const auto head = static_cast<std::int32_t>(blockIdx.y);
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
  __device__ static void round_dq(const device::FmhaRoundDqArgs& a) {
    constexpr int kWaves = device::kRoundLanes / kLanes;
    const std::int64_t b = blockIdx.z, head = blockIdx.y;
    const std::int64_t start = kTraits.varlen ? a.seqstart[b] : 0;
    const std::int64_t rows = kTraits.varlen ? a.seqstart[b + 1] - start : a.rows;
    const auto place = [&](const FmhaStrides& strides, std::int64_t row) {
      return (kTraits.varlen ? 0 : b * strides.batch) + head * strides.head + (start + row) * strides.row;
    };
    const int lane = static_cast<int>(threadIdx.x) % kLanes, wave = static_cast<int>(threadIdx.x) / kLanes;
    const std::int64_t first = std::int64_t{blockIdx.x} * device::kRoundRows, last = first + device::kRoundRows;
    for (std::int64_t row = first + wave; row < last && row < rows; row += kWaves) {
      const float* const from = a.sums + place(a.sum_strides, row);
      const std::int64_t to = place(a.dq_strides, row);
      for (int column = lane; column < a.columns; column += kLanes) Element::store(a.dq, to + column, from[column]);
    }
  }
};

}  // namespace ckgen::hip

/// Defines the kernel `symbol` that rounds dQ as a ShippedGradientStages does.
#define CKGEN_FMHA_ROUND_DQ_KERNEL(symbol, Stages)                         \
  extern "C" __global__ void __launch_bounds__(ckgen::device::kRoundLanes) \
      symbol(ckgen::device::FmhaRoundDqArgs args) {                        \
    Stages::round_dq(args);                                                \
  }
