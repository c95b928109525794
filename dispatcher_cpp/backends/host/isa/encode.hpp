// Rounding to what C holds, compiled once per ISA. Included by the files of levels only. Plain loops, that compilers
// vectorise: without contraction every ISA computes the same.
#pragma once

#include "backends/host/isa/narrow.hpp"

#include <immintrin.h>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

inline std::uint16_t to_bf16(std::uint32_t u) {
  const std::uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
  const std::uint32_t nan = ((u >> 16) & 0x8000u) | 0x7fc0u;
  return static_cast<std::uint16_t>((u & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

void encode_bf16(const float* __restrict in, unsigned char* __restrict out, std::int64_t n) {
  std::int64_t i = 0;
#if CKGEN_HOST_LEVEL >= 5
  // The instruction makes zeros of subnormal numbers, and keeps what a NaN says beyond being one.
  constexpr int kNanOrSubnormal = 0xa1;
  for (; i + 32 <= n; i += 32) {
    const __m512 low = _mm512_loadu_ps(in + i), high = _mm512_loadu_ps(in + i + 16);
    if ((_mm512_fpclass_ps_mask(low, kNanOrSubnormal) | _mm512_fpclass_ps_mask(high, kNanOrSubnormal)) != 0) break;
    const __m512bh both = _mm512_cvtne2ps_pbh(high, low);
    __builtin_memcpy(out + i * 2, &both, 64);
  }
#endif
  for (; i < n; ++i) {
    const std::uint16_t h = to_bf16(float_to_bits(in[i]));
    __builtin_memcpy(out + i * 2, &h, 2);
  }
}

inline void encode(DType c, const float* __restrict in, void* __restrict out, std::int64_t n) {
  unsigned char* bytes = static_cast<unsigned char*>(out);
  if (c == DType::bf16) return encode_bf16(in, bytes, n);
#if CKGEN_HOST_LEVEL >= 5
  kIsaV4.encode(c, in, out, n);
#else
  if (encode_narrow(c, in, bytes, n)) return;
  if (c == DType::fp16) {
    std::int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
      __m256 v;
      __builtin_memcpy(&v, in + i, 32);
      const __m128i h = _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
      __builtin_memcpy(bytes + i * 2, &h, 16);
    }
    for (; i < n; ++i) {
      const std::uint16_t h = _cvtss_sh(in[i], _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
      __builtin_memcpy(bytes + i * 2, &h, 2);
    }
  } else {
    __builtin_memcpy(bytes, in, static_cast<std::size_t>(n) * 4);
  }
#endif
}

inline void round_to(DType c, float* values, std::int64_t n) {
  if (c != DType::bf16 && c != DType::fp16) return;
  for (std::int64_t i = 0; i < n; i += kRowWords) {
    const std::int64_t take = least(kRowWords, n - i);
    std::uint16_t half[kRowWords];
    encode(c, values + i, half, take);
    PackSource s{};
    s.base = reinterpret_cast<const unsigned char*>(half);
    if (c == DType::bf16)
      decode_run<DType::bf16>(s, 0, take, values + i);
    else
      decode_run<DType::fp16>(s, 0, take, values + i);
  }
}

}  // namespace
}  // namespace host
}  // namespace v1
}  // namespace ckgen
