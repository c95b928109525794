// Elements in memory and their bits, compiled once per ISA.
// Included by the headers of packing only. Everything is in an unnamed namespace for the reason isa/table.hpp gives.
#pragma once

#include "backends/host/isa/table.hpp"

#include <cstdint>

#include <immintrin.h>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

constexpr int kMaxWidth = 64;  // widest panel

inline std::int64_t least(std::int64_t a, std::int64_t b) {
  return a < b ? a : b;
}

inline float bits_to_float(std::uint32_t b) {
  float f;
  __builtin_memcpy(&f, &b, 4);
  return f;
}
inline std::uint32_t float_to_bits(float f) {
  std::uint32_t b;
  __builtin_memcpy(&b, &f, 4);
  return b;
}
inline std::uint16_t load_u16(const unsigned char* p) {
  std::uint16_t v;
  __builtin_memcpy(&v, p, 2);
  return v;
}

// In a loop over the few elements that vectors leave: keeps the compiler from making vectors of it again, which are
// much code for nothing.
[[gnu::always_inline]] inline void one_by_one() {
  asm volatile("");
}

// memcpy of up to some hundred bytes: g++, which sees the bound, would make a `rep movs` of it, slower than all else
// that packing does.
inline void copy_run(void* to, const void* from, std::int64_t bytes) {
  unsigned char* out = static_cast<unsigned char*>(to);
  const unsigned char* in = static_cast<const unsigned char*>(from);
  std::int64_t i = 0;
  for (; i + 32 <= bytes; i += 32)
    _mm256_storeu_si256(reinterpret_cast<__m256i_u*>(out + i),
                        _mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(in + i)));
  for (; i + 4 <= bytes; i += 4, one_by_one()) __builtin_memcpy(out + i, in + i, 4);
  for (; i < bytes; ++i, one_by_one()) out[i] = in[i];
}

constexpr bool has_second(DType t) {
  return t == DType::fp32 || t == DType::fp16 || t == DType::bf16;
}

constexpr int storage_bits(DType t) {
  return t == DType::fp4 ? 4 : t == DType::fp32 ? 32 : (t == DType::bf16 || t == DType::fp16) ? 16 : 8;
}

}  // namespace
}  // namespace host
}  // namespace v1
}  // namespace ckgen
