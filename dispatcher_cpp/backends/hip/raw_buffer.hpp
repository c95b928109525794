// Operands behind raw buffers: 32-bit offsets, and a lane reads 0 outside of its rows.
//
// A raw buffer's offset is 32 bits wide and counts as negative from 2 GiB on: hosts refuse what a tile's rows take that
// is larger before launch. C++20, compiled as HIP for any arch; code for gfx90a, gfx942 and gfx950.
#pragma once

#include <cstdint>

#include <hip/hip_runtime.h>

#include "instructions.hpp"

namespace ckgen::hip {

inline constexpr int kWave = 64;
inline constexpr int kLoadBytes = 16;  // of a lane's widest load

#if CKGEN_HAS_HALF_PRODUCTS

using Dwords4 = std::uint32_t __attribute__((ext_vector_type(4)));
using Dwords8 = std::int32_t __attribute__((ext_vector_type(8)));
using Floats2 = float __attribute__((ext_vector_type(2)));
using Floats4 = float __attribute__((ext_vector_type(4)));
using Buffer = __amdgpu_buffer_rsrc_t;

inline constexpr std::uint32_t kOutside = 0x8000'0000U;  // an offset that no buffer reaches

__device__ constexpr std::uint32_t least(std::uint32_t a, std::uint32_t b) {
  return a < b ? a : b;
}

/// `bytes` bytes from `base` on, of which loads beyond give 0.
__device__ inline Buffer buffer_of(const void* base, std::uint32_t bytes) {
  constexpr int kRawDwords = 0x0002'0000;  // gfx9's third dword: 32-bit data, no stride, no swizzle
  return __builtin_amdgcn_make_buffer_rsrc(const_cast<void*>(base), 0, static_cast<int>(bytes), kRawDwords);
}

/// Rows first … first + count of a matrix that has `rows`, one of them at least, `width` bytes of each: base address in
/// 64 bits.
__device__ inline Buffer rows_of(const void* matrix, std::int64_t first, std::uint32_t count, std::int64_t rows,
                                 std::int64_t stride, std::int64_t width) {
  const std::uint32_t held = least(static_cast<std::uint32_t>(rows - first), count);
  return buffer_of(static_cast<const char*>(matrix) + first * stride,
                   (held - 1) * static_cast<std::uint32_t>(stride) + static_cast<std::uint32_t>(width));
}

__device__ inline Dwords4 load_16(Buffer from, std::uint32_t lane_offset, std::uint32_t wave_offset) {
  return __builtin_amdgcn_raw_buffer_load_b128(from, lane_offset, wave_offset, 0);
}

__device__ inline std::uint32_t wave_of_workgroup() {
  return __builtin_amdgcn_readfirstlane(threadIdx.x / kWave);
}

#endif

}  // namespace ckgen::hip
