// What the MX-FP8 kernels share: scales behind raw buffers, and their results.
//
// C++20, compiled as HIP for any arch; code only for gfx950.
#pragma once

#include <cstdint>

#include "mxfp8_args.hpp"
#include "raw_buffer.hpp"

namespace ckgen::hip {

#if CKGEN_HAS_SCALED_PRODUCTS

/// The scale's byte, zero-extended.
__device__ inline std::uint32_t load_scale(Buffer from, std::uint32_t lane_offset, std::uint32_t wave_offset) {
  return __builtin_amdgcn_raw_buffer_load_b8(from, lane_offset, wave_offset, 0);
}

__device__ inline void store_bf16(void* c, std::int64_t index, float value) {
  static_cast<__bf16*>(c)[index] = static_cast<__bf16>(value);
}

#endif

}  // namespace ckgen::hip
