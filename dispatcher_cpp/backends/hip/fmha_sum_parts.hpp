// Gradients of a head: sum_p part[b][head][p][row][c] over its parts p, in their order, rounded once.
//
// A workgroup of four waves takes 16 rows of a head; a wave a row at a time, a lane columns. C++20, for either half of
// a HIP compile; nothing here launches a kernel.
#pragma once

#include <cstdint>

#include <hip/hip_runtime.h>

#include "../device/fmha_sum_parts_args.hpp"

namespace ckgen::hip {

template <class Result>
__device__ void fmha_sum_parts(const device::FmhaSumPartsArgs& a) {
  constexpr int kLanes = 64, kWaves = device::kSumLanes / kLanes;
  const std::int64_t b = blockIdx.z, g = blockIdx.y;
  const std::int64_t start = a.seqstart != nullptr ? a.seqstart[b] : 0;
  const std::int64_t rows = a.lengths != nullptr    ? a.lengths[b]
                            : a.seqstart != nullptr ? a.seqstart[b + 1] - start
                                                    : a.rows;
  const int lane = static_cast<int>(threadIdx.x) % kLanes, wave = static_cast<int>(threadIdx.x) / kLanes;
  const std::int64_t first = std::int64_t{blockIdx.x} * device::kSumRows, last = first + device::kSumRows;
  for (const device::FmhaPartSums& of : a.sums) {
    const std::int64_t part = a.rows * of.columns;
    for (std::int64_t row = first + wave; row < last && row < rows; row += kWaves) {
      const float* const parts = of.from + (b * a.heads + g) * a.group * part + row * of.columns;
      Result* const to = static_cast<Result*>(of.to) + (a.seqstart != nullptr ? 0 : b * of.strides.batch) +
                         g * of.strides.head + (start + row) * of.strides.row;
      for (int column = lane; column < of.columns; column += kLanes) {
        float sum = 0.0F;
        for (std::int64_t p = 0; p < a.group; ++p) sum += parts[p * part + column];
        to[column] = static_cast<Result>(sum);
      }
    }
  }
}

}  // namespace ckgen::hip

/// Defines the kernel as `symbol` for gradients of elements `type`: float, _Float16 or __bf16.
#define CKGEN_FMHA_SUM_PARTS_KERNEL(symbol, type)                        \
  extern "C" __global__ void __launch_bounds__(ckgen::device::kSumLanes) \
      symbol(ckgen::device::FmhaSumPartsArgs args) {                     \
    ckgen::hip::fmha_sum_parts<type>(args);                              \
  }
