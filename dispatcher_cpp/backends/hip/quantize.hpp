// Rows of bf16 or fp16 as fp8 or int8 with an fp32 scale per row or per part of a row; of a whole matrix as of one row.
// Rows with an e8m0 scale per 32 elements, 2^(floor(log2(largest magnitude)) - the type's largest exponent): as OCP
// e4m3, and as fp4 in the order of a MoE layer's sorted rows.
//
// scale = largest magnitude / largest value of the type, 1 where all are zero; an element becomes element / scale,
// rounded to nearest even. fp8 is what the arch converts to: FNUZ on gfx942, OCP on gfx950. C++20, for either half of a
// HIP compile; nothing here launches a kernel.
#pragma once

#include <cstdint>
#include <type_traits>

#include <hip/hip_runtime.h>

#include <ckgen/preshuffle.hpp>

#include "../device/moe_stage_args.hpp"
#include "instructions.hpp"

namespace ckgen::hip {

using device::kQuantizeChunk;
using device::kQuantizeLanes;
using device::QuantizeArgs;
using device::QuantizeSortedArgs;

struct Bf16 {
  static __device__ float value(std::uint32_t pair, int half) {
    return __builtin_bit_cast(float, half == 0 ? pair << 16 : pair & 0xFFFF0000U);
  }
};
struct Fp16 {
  static __device__ float value(std::uint32_t pair, int half) {
    return static_cast<float>(__builtin_bit_cast(_Float16, static_cast<std::uint16_t>(half == 0 ? pair : pair >> 16)));
  }
};

/// Values of a chunk to one byte each.
struct ToInt8 {
  static constexpr float largest = 127.0F;
  static __device__ std::uint32_t pack(float a, float b, float c, float d) {
    return byte(a) | byte(b) << 8 | byte(c) << 16 | byte(d) << 24;
  }
  static __device__ std::uint32_t byte(float value) {
    return static_cast<std::uint32_t>(static_cast<std::int32_t>(__builtin_rintf(value))) & 0xFFU;
  }
};
struct ToFp8 {
#if CKGEN_HAS_FNUZ
  static constexpr float largest = 240.0F;
#else
  static constexpr float largest = 448.0F;
#endif
  static __device__ std::uint32_t pack(float a, float b, float c, float d) {
#if CKGEN_HAS_FLOAT8_PRODUCTS
    return static_cast<std::uint32_t>(
        __builtin_amdgcn_cvt_pk_fp8_f32(c, d, __builtin_amdgcn_cvt_pk_fp8_f32(a, b, 0, false), true));
#else
    return static_cast<void>(a), static_cast<void>(b), static_cast<void>(c), static_cast<void>(d), 0;
#endif
  }
};

using QuantizeWords = std::uint32_t __attribute__((ext_vector_type(4)));
using QuantizeBytes = std::uint32_t __attribute__((ext_vector_type(2)));

template <class From>
__device__ float largest_of(QuantizeWords chunk) {
  float found = 0.0F;
  for (int i = 0; i < 4; ++i) {
    for (int half = 0; half < 2; ++half) found = __builtin_fmaxf(found, __builtin_fabsf(From::value(chunk[i], half)));
  }
  return found;
}

template <class To>
__device__ float scale_of(float largest) {
  return largest == 0.0F ? 1.0F : largest / To::largest;
}

template <class From, class To>
__device__ QuantizeBytes quantized(QuantizeWords chunk, float scale) {
  const auto of = [&](int i) { return From::value(chunk[i / 2], i % 2) / scale; };
  return {To::pack(of(0), of(1), of(2), of(3)), To::pack(of(4), of(5), of(6), of(7))};
}

/// The largest of `value` over `lanes` neighbouring lanes of a wave, a power of two.
__device__ inline float largest_of_lanes(float value, int lanes) {
  for (int away = 1; away < lanes; away *= 2) value = __builtin_fmaxf(value, __shfl_xor(value, away));
  return value;
}

/// A workgroup takes row blockIdx.x, all of which shares a scale.
template <class From, class To>
__device__ void quantize_row(const QuantizeArgs& args) {
  __shared__ float of_waves[kQuantizeLanes / 64];
  const std::int64_t row = blockIdx.x, chunks = args.columns / kQuantizeChunk;
  const auto* from = static_cast<const QuantizeWords*>(args.from) + row * chunks;
  auto* to = static_cast<QuantizeBytes*>(args.to) + row * chunks;
  float largest = 0.0F;
  for (std::int64_t i = threadIdx.x; i < chunks; i += kQuantizeLanes)
    largest = __builtin_fmaxf(largest, largest_of<From>(from[i]));
  largest = largest_of_lanes(largest, 64);
  if (threadIdx.x % 64 == 0) of_waves[threadIdx.x / 64] = largest;
  __syncthreads();
  for (const float wave : of_waves) largest = __builtin_fmaxf(largest, wave);
  const float scale = scale_of<To>(largest);
  if (threadIdx.x == 0) static_cast<float*>(args.scales)[row] = scale;
  for (std::int64_t i = threadIdx.x; i < chunks; i += kQuantizeLanes) to[i] = quantized<From, To>(from[i], scale);
}

/// A workgroup takes row blockIdx.x, `kPart` elements of which share a scale.
template <class From, class To, int kPart>
__device__ void quantize_parts(const QuantizeArgs& args) {
  constexpr int lanes = kPart / kQuantizeChunk;
  static_assert(lanes <= 64 && 64 % lanes == 0 && kPart % kQuantizeChunk == 0);
  const std::int64_t row = blockIdx.x, chunks = args.columns / kQuantizeChunk;
  const auto* from = static_cast<const QuantizeWords*>(args.from) + row * chunks;
  auto* to = static_cast<QuantizeBytes*>(args.to) + row * chunks;
  for (std::int64_t first = 0; first < chunks; first += kQuantizeLanes) {
    const std::int64_t i = first + threadIdx.x;
    const QuantizeWords chunk = i < chunks ? from[i] : QuantizeWords{};
    const float scale = scale_of<To>(largest_of_lanes(largest_of<From>(chunk), lanes));
    if (i >= chunks) continue;
    if (threadIdx.x % lanes == 0) static_cast<float*>(args.scales)[row * (chunks / lanes) + i / lanes] = scale;
    to[i] = quantized<From, To>(chunk, scale);
  }
}

/// The e8m0 scale of elements of which `largest` is the largest magnitude, for a type whose largest exponent is kEmax;
/// magnitudes whose scale would be below 2^-127 have that one.
template <int kEmax>
__device__ int mx_scale_of(float largest) {
  const int exponent =
      static_cast<int>(__builtin_bit_cast(std::uint32_t, largest) >> 23) - kEmax;  // biased; below 1: 0
  return exponent < 0 ? 0 : exponent;
}

inline constexpr int kMxGroup = 32, kMxGroupLanes = kMxGroup / kQuantizeChunk, kMxBias = 127;

/// A workgroup takes row blockIdx.x, as OCP e4m3. A NaN stays one and does not count for the scale.
template <class From>
__device__ void quantize_mx(const QuantizeArgs& args) {
  const std::int64_t row = blockIdx.x, chunks = args.columns / kQuantizeChunk, groups = args.columns / kMxGroup;
  const auto* from = static_cast<const QuantizeWords*>(args.from) + row * chunks;
  auto* to = static_cast<QuantizeBytes*>(args.to) + row * chunks;
  constexpr float most = 448.0F;
  for (std::int64_t first = 0; first < chunks; first += kQuantizeLanes) {
    const std::int64_t i = first + threadIdx.x;
    const QuantizeWords chunk = i < chunks ? from[i] : QuantizeWords{};
    const int scale = mx_scale_of<8>(largest_of_lanes(largest_of<From>(chunk), kMxGroupLanes));
    if (i >= chunks) continue;
    if (threadIdx.x % kMxGroupLanes == 0)
      static_cast<unsigned char*>(args.scales)[row * groups + i / kMxGroupLanes] = static_cast<unsigned char>(scale);
    const auto of = [&](int e) {
      const float value = __builtin_ldexpf(From::value(chunk[e / 2], e % 2), kMxBias - scale);
      return __builtin_fabsf(value) > most ? __builtin_copysignf(most, value) : value;
    };
    to[i] = {ToFp8::pack(of(0), of(1), of(2), of(3)), ToFp8::pack(of(4), of(5), of(6), of(7))};
  }
}

/// The code of e2m1 nearest to `value`, the even one of two; at most 6.
__device__ inline std::uint32_t fp4_code(float value) {
  const float size = __builtin_fabsf(value);
  const std::uint32_t code = (size > 0.25F) + (size >= 0.75F) + (size > 1.25F) + (size >= 1.75F) + (size > 2.5F) +
                             (size >= 3.5F) + (size > 5.0F);
  return code | (__builtin_bit_cast(std::uint32_t, value) >> 31 << 3);
}

/// A workgroup takes the row that sorted place blockIdx.x stands for; of padding only the scales, which are 1.
template <class From>
__device__ void quantize_sorted(const QuantizeSortedArgs& args) {
  const std::int64_t place = blockIdx.x, chunks = args.columns / kQuantizeChunk, groups = args.columns / kMxGroup;
  if (place >= args.valid[0]) return;
  const auto id = static_cast<std::uint32_t>(args.token_ids[place]);
  const auto slot = static_cast<std::int32_t>(id >> 24);
  const bool padding = slot >= args.top_k;
  const std::int64_t row = padding ? 0 : std::int64_t{id & 0xFFFFFFU} * args.top_k + slot;
  const auto* from = static_cast<const QuantizeWords*>(args.from) + row * chunks;
  auto* to = static_cast<std::uint32_t*>(args.to) + row * chunks;
  for (std::int64_t first = 0; first < chunks; first += kQuantizeLanes) {
    const std::int64_t i = first + threadIdx.x;
    const QuantizeWords chunk = i < chunks && !padding ? from[i] : QuantizeWords{};
    const int found = mx_scale_of<2>(largest_of_lanes(largest_of<From>(chunk), kMxGroupLanes));
    if (i >= chunks) continue;
    const int scale = padding ? kMxBias : found;
    if (threadIdx.x % kMxGroupLanes == 0)
      args.scales[shuffled_mx_scale(place, i / kMxGroupLanes, groups)] = static_cast<unsigned char>(scale);
    if (padding) continue;
    std::uint32_t packed = 0;
    for (int e = 0; e < kQuantizeChunk; ++e)
      packed |= fp4_code(__builtin_ldexpf(From::value(chunk[e / 2], e % 2), kMxBias - scale)) << (4 * e);
    to[i] = packed;
  }
}

}  // namespace ckgen::hip

/// Defines the kernel as `symbol`: a scale per row. It takes QuantizeArgs; a workgroup of kQuantizeLanes per row.
#define CKGEN_QUANTIZE_ROW_KERNEL(symbol, From, To)                                                                \
  extern "C" __global__ void __launch_bounds__(ckgen::hip::kQuantizeLanes) symbol(ckgen::hip::QuantizeArgs args) { \
    ckgen::hip::quantize_row<ckgen::hip::From, ckgen::hip::To>(args);                                              \
  }

/// The same with a scale per `part` elements of a row.
#define CKGEN_QUANTIZE_PARTS_KERNEL(symbol, From, To, part)                                                        \
  extern "C" __global__ void __launch_bounds__(ckgen::hip::kQuantizeLanes) symbol(ckgen::hip::QuantizeArgs args) { \
    ckgen::hip::quantize_parts<ckgen::hip::From, ckgen::hip::To, part>(args);                                      \
  }

/// The same to OCP e4m3 with an e8m0 scale per 32 elements of a row; for gfx950.
#define CKGEN_QUANTIZE_MX_KERNEL(symbol, From)                                                                     \
  extern "C" __global__ void __launch_bounds__(ckgen::hip::kQuantizeLanes) symbol(ckgen::hip::QuantizeArgs args) { \
    ckgen::hip::quantize_mx<ckgen::hip::From>(args);                                                               \
  }

/// The same to fp4 in the order of a MoE layer's sorted rows. It takes QuantizeSortedArgs; a workgroup per sorted row.
#define CKGEN_QUANTIZE_SORTED_KERNEL(symbol, From)                         \
  extern "C" __global__ void __launch_bounds__(ckgen::hip::kQuantizeLanes) \
      symbol(ckgen::hip::QuantizeSortedArgs args) {                        \
    ckgen::hip::quantize_sorted<ckgen::hip::From>(args);                   \
  }
