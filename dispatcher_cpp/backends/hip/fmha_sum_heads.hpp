// dK and dV of a KV head: sum_h part[b][h][j][c] over its query heads h, in their order, rounded once.
//
// A workgroup of four waves takes 16 rows of K and V of a KV head; a wave a row at a time, a lane columns. C++20, for
// either half of a HIP compile; nothing here launches a kernel.
#pragma once

#include <cstdint>

#include <hip/hip_runtime.h>

#include "../device/fmha_sum_heads_args.hpp"

namespace ckgen::hip {

template <class Result>
__device__ void fmha_sum_heads(const device::FmhaSumHeadsArgs& a) {
  constexpr int kLanes = 64, kWaves = device::kSumLanes / kLanes;
  const std::int64_t b = blockIdx.z, g = blockIdx.y;
  const std::int64_t start = a.seqstart_k != nullptr ? a.seqstart_k[b] : 0;
  const std::int64_t rows = a.seqlen_k != nullptr     ? a.seqlen_k[b]
                            : a.seqstart_k != nullptr ? a.seqstart_k[b + 1] - start
                                                      : a.rows;
  const int lane = static_cast<int>(threadIdx.x) % kLanes, wave = static_cast<int>(threadIdx.x) / kLanes;
  const std::int64_t first = std::int64_t{blockIdx.x} * device::kSumRows, last = first + device::kSumRows;
  for (const device::FmhaHeadSums& of : a.sums) {
    const std::int64_t head = a.rows * of.columns;
    for (std::int64_t row = first + wave; row < last && row < rows; row += kWaves) {
      const float* const parts = of.from + (b * a.heads_q + g * a.group) * head + row * of.columns;
      Result* const to = static_cast<Result*>(of.to) + (a.seqstart_k != nullptr ? 0 : b * of.strides.batch) +
                         g * of.strides.head + (start + row) * of.strides.row;
      for (int column = lane; column < of.columns; column += kLanes) {
        float sum = 0.0F;
        for (int h = 0; h < a.group; ++h) sum += parts[h * head + column];
        to[column] = static_cast<Result>(sum);
      }
    }
  }
}

}  // namespace ckgen::hip

/// Defines the kernel as `symbol` for gradients of elements `type`: float, _Float16 or __bf16.
#define CKGEN_FMHA_SUM_HEADS_KERNEL(symbol, type)                        \
  extern "C" __global__ void __launch_bounds__(ckgen::device::kSumLanes) \
      symbol(ckgen::device::FmhaSumHeadsArgs args) {                     \
    ckgen::hip::fmha_sum_heads<type>(args);                              \
  }
