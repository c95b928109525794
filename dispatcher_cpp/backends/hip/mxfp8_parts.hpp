// What the MX-FP8 kernels share: operands behind raw buffers, 32-bit offsets, where a lane reads 0 outside of its rows.
//
// An MX-FP8 matrix is rows of e4m3 bytes, k contiguous, `stride` bytes from one row to the next, and rows of e8m0
// scales, one per 32 elements of k, without gaps. A raw buffer's offset is 32 bits wide and counts as negative from
// 2 GiB on: hosts refuse larger tensors before launch. C++20, compiled as HIP for any arch; code only for gfx950.
#pragma once

#include <cstdint>

#include <hip/hip_runtime.h>

namespace ckgen::hip {

inline constexpr int kMxBlock = 32;  // elements of k per scale
inline constexpr int kWave = 64;
inline constexpr int kLoadBytes = 16;  // of a lane's widest load

/// Plain GEMM operands: A is m x k, B is n x k, C is m x n of bf16; strides count elements.
struct MxGemmArgs {
  const void* a;
  const void* a_scale;
  const void* b;
  const void* b_scale;
  void* c;
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  std::int64_t lda;
  std::int64_t ldb;
  std::int64_t ldc;
};

#if defined(__gfx950__)

using Dwords4 = std::uint32_t __attribute__((ext_vector_type(4)));
using Dwords8 = std::int32_t __attribute__((ext_vector_type(8)));
using Floats2 = float __attribute__((ext_vector_type(2)));
using Floats4 = float __attribute__((ext_vector_type(4)));
using Buffer = __amdgpu_buffer_rsrc_t;

inline constexpr std::uint32_t kOutside = 0x8000'0000U;  // an offset that no buffer reaches

/// `bytes` bytes from `base` on, of which loads beyond give 0.
__device__ inline Buffer buffer_of(const void* base, std::int64_t bytes) {
  constexpr int kRawDwords = 0x0002'0000;  // gfx9's third dword: 32-bit data, no stride, no swizzle
  return __builtin_amdgcn_make_buffer_rsrc(const_cast<void*>(base), 0, static_cast<int>(bytes), kRawDwords);
}

/// Rows first … first + count of a matrix that has `rows`, `width` bytes of each: base address in 64 bits.
__device__ inline Buffer rows_of(const void* matrix, std::int64_t first, std::int64_t count, std::int64_t rows,
                                 std::int64_t stride, std::int64_t width) {
  const std::int64_t left = rows - first;
  const std::int64_t held = left < count ? left : count;
  return buffer_of(static_cast<const char*>(matrix) + first * stride, held > 0 ? (held - 1) * stride + width : 0);
}

__device__ inline Dwords4 load_16(Buffer from, std::uint32_t lane_offset, std::uint32_t wave_offset) {
  return __builtin_amdgcn_raw_buffer_load_b128(from, lane_offset, wave_offset, 0);
}

/// The scale's byte, zero-extended.
__device__ inline std::uint32_t load_scale(Buffer from, std::uint32_t lane_offset, std::uint32_t wave_offset) {
  return __builtin_amdgcn_raw_buffer_load_b8(from, lane_offset, wave_offset, 0);
}

__device__ inline void store_bf16(void* c, std::int64_t index, float value) {
  static_cast<__bf16*>(c)[index] = static_cast<__bf16>(value);
}

__device__ inline std::uint32_t wave_of_workgroup() {
  return __builtin_amdgcn_readfirstlane(threadIdx.x / kWave);
}

#endif

}  // namespace ckgen::hip
