// Products of 16 x 16 fragments, elements widened to Q's type, and sums over the lanes of a row.
//
// A fragment is 8 elements of 16 bits of each lane: row lane % 16, elements of the summed dimension in any order that
// both operands share. C++20, compiled as HIP; code for gfx90a, gfx942 and gfx950.
#pragma once

#include <type_traits>

#include "fmha_math.hpp"
#include "raw_buffer.hpp"

namespace ckgen::hip {

#if CKGEN_HAS_HALF_PRODUCTS

enum class Half : int { bf16, fp16 };

#if CKGEN_HAS_FLOAT8_PRODUCTS
/// Four 8-bit floats, of the arch's flavour.
__device__ inline Floats4 widened(std::uint32_t bytes) {
  const auto low = __builtin_amdgcn_cvt_pk_f32_fp8(static_cast<int>(bytes), false);
  const auto high = __builtin_amdgcn_cvt_pk_f32_fp8(static_cast<int>(bytes), true);
  return {low[0], low[1], high[0], high[1]};
}
#else
/// No kernel of an arch without 8-bit floats calls it.
__device__ Floats4 widened(std::uint32_t bytes);
#endif

template <Half kType>
struct HalfMath {
  using Element = std::conditional_t<kType == Half::bf16, __bf16, _Float16>;
  using Elements4 = Element __attribute__((ext_vector_type(4)));
  using Elements8 = Element __attribute__((ext_vector_type(8)));
  using Shorts4 = short __attribute__((ext_vector_type(4)));

  /// sums + A * B^T: rows 4 * (lane / 16) + i of A by row lane % 16 of B.
  __device__ static Floats4 multiply(Dwords4 a, Dwords4 b, Floats4 sums) {
#if CKGEN_HAS_DEEP_PRODUCTS
    const auto of_a = __builtin_bit_cast(Elements8, a), of_b = __builtin_bit_cast(Elements8, b);
    if constexpr (kType == Half::bf16)
      return __builtin_amdgcn_mfma_f32_16x16x32_bf16(of_a, of_b, sums, 0, 0, 0);
    else
      return __builtin_amdgcn_mfma_f32_16x16x32_f16(of_a, of_b, sums, 0, 0, 0);
#else
    return step(a.hi, b.hi, step(a.lo, b.lo, sums));
#endif
  }

  /// Rounded to nearest even.
  __device__ static Dwords4 narrowed(Floats4 low, Floats4 high) {
    using Floats8 = float __attribute__((ext_vector_type(8)));
    const Floats8 all = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
    return __builtin_bit_cast(Dwords4, __builtin_convertvector(all, Elements8));
  }

  /// Two elements that the type holds exactly.
  __device__ static std::uint32_t pair(float low, float high) {
    constexpr std::uint32_t kUpperHalves = 0x0706'0302U;
    if constexpr (kType == Half::bf16)
      return __builtin_amdgcn_perm(__builtin_bit_cast(std::uint32_t, high), __builtin_bit_cast(std::uint32_t, low),
                                   kUpperHalves);
    else
      return __builtin_bit_cast(std::uint32_t, __builtin_amdgcn_cvt_pkrtz(low, high));
  }

  /// A fragment of 8-bit floats, which the type holds exactly.
  __device__ static Dwords4 of_bytes(std::uint32_t first, std::uint32_t second) {
    const Floats4 low = widened(first), high = widened(second);
    return {pair(low[0], low[1]), pair(low[2], low[3]), pair(high[0], high[1]), pair(high[2], high[3])};
  }

 private:
#if !CKGEN_HAS_DEEP_PRODUCTS
  using Dwords2 = std::uint32_t __attribute__((ext_vector_type(2)));
  __device__ static Floats4 step(Dwords2 a, Dwords2 b, Floats4 sums) {
    if constexpr (kType == Half::bf16)
      return __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(__builtin_bit_cast(Shorts4, a), __builtin_bit_cast(Shorts4, b),
                                                       sums, 0, 0, 0);
    else
      return __builtin_amdgcn_mfma_f32_16x16x16f16(__builtin_bit_cast(Elements4, a), __builtin_bit_cast(Elements4, b),
                                                   sums, 0, 0, 0);
  }
#endif
};

/// The largest of the four lanes that have the same lane % 16.
__device__ inline float most_of_row(float value) {
  value = __builtin_fmaxf(value, __shfl_xor(value, 16));
  return __builtin_fmaxf(value, __shfl_xor(value, 32));
}

__device__ inline float sum_of_row(float value) {
  value += __shfl_xor(value, 16);
  return value + __shfl_xor(value, 32);
}

/// Memory of the device, as the loads of one lane see it.
template <class T>
__device__ T load_at(const void* base, std::int64_t bytes) {
  using Place = const __attribute__((address_space(1))) char*;
  return *(const __attribute__((address_space(1))) T*)((Place)base + bytes);
}

/// What all lanes of a wave read alike, and nothing writes.
template <class T>
__device__ T load_scalar(const T* base, std::int64_t index) {
  return ((const __attribute__((address_space(4))) T*)base)[index];
}

#endif

}  // namespace ckgen::hip
