// Elements of memory as fp32 numbers. C++20, for the device half of a HIP compile.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>

#include <ckgen/codecs.hpp>

namespace ckgen::hip {

/// An element of a wide type, or an 8-bit float, in memory.
template <DType kType>
struct MemoryElement {
  static constexpr int kBytes = bits(kType) / 8;

  __device__ static float load(const void* base, std::int64_t at) {
    if constexpr (kType == DType::fp32) return static_cast<const float*>(base)[at];
    if constexpr (kType == DType::fp16) return static_cast<float>(static_cast<const _Float16*>(base)[at]);
    if constexpr (kBytes == 1) return decode(kType, static_cast<const std::uint8_t*>(base)[at]);
    return __builtin_bit_cast(float, std::uint32_t{static_cast<const std::uint16_t*>(base)[at]} << 16);
  }
  /// Rounded to nearest even; 8 bits to the largest value where the rounded one is beyond.
  __device__ static void store(void* base, std::int64_t at, float value) {
    if constexpr (kType == DType::fp32)
      static_cast<float*>(base)[at] = value;
    else if constexpr (kType == DType::fp16)
      static_cast<_Float16*>(base)[at] = static_cast<_Float16>(value);
    else if constexpr (kType == DType::bf16)
      static_cast<std::uint16_t*>(base)[at] = static_cast<std::uint16_t>(encode(kType, value));
    else
      static_cast<std::uint8_t*>(base)[at] = static_cast<std::uint8_t>(encode(kType, value, Overflow::saturating));
  }
};

}  // namespace ckgen::hip
