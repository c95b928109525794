// Vectors of floats and doubles as wide as the host's registers, with the fused multiply-add that GCC has no portable
// operator for.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

#if defined(__FMA__)
#include <immintrin.h>
#endif

namespace ckgen::emu {

#if defined(__AVX512F__)
constexpr unsigned kVectorBytes = 64;
#elif defined(__AVX__)
constexpr unsigned kVectorBytes = 32;
#else
constexpr unsigned kVectorBytes = 16;
#endif

using Floats [[gnu::vector_size(kVectorBytes)]] = float;
using Doubles [[gnu::vector_size(kVectorBytes)]] = double;
using Ints [[gnu::vector_size(kVectorBytes)]] = std::int32_t;
using HalfFloats [[gnu::vector_size(kVectorBytes / 2)]] = float;  // as many as there are Doubles
constexpr unsigned kFloats = kVectorBytes / sizeof(float);
constexpr unsigned kDoubles = kVectorBytes / sizeof(double);

template <std::size_t... Index>
[[gnu::always_inline]] inline HalfFloats half(const Floats& from, unsigned index,
                                              std::index_sequence<Index...>) noexcept {
  return index == 0 ? __builtin_shufflevector(from, from, Index...)
                    : __builtin_shufflevector(from, from, (Index + kDoubles)...);
}
/// Half `index` of a vector, in double.
[[gnu::always_inline]] inline Doubles widened(const Floats& from, unsigned index) noexcept {
  return __builtin_convertvector(half(from, index, std::make_index_sequence<kDoubles>()), Doubles);
}
template <std::size_t... Index>
[[gnu::always_inline]] inline Floats joined(const HalfFloats& low, const HalfFloats& high,
                                            std::index_sequence<Index...>) noexcept {
  return __builtin_shufflevector(low, high, Index...);
}
/// Both halves, rounded to float.
[[gnu::always_inline]] inline Floats narrowed(const Doubles& low, const Doubles& high) noexcept {
  return joined(__builtin_convertvector(low, HalfFloats), __builtin_convertvector(high, HalfFloats),
                std::make_index_sequence<kFloats>());
}

template <class Vector>
[[gnu::always_inline]] inline Vector load(const void* from) noexcept {
  Vector value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class Vector>
[[gnu::always_inline]] inline void store(void* to, const Vector& value) noexcept {
  std::memcpy(to, &value, sizeof value);
}

[[gnu::always_inline]] inline Floats multiply_add(Floats a, Floats b, Floats c) noexcept {
#if defined(__AVX512F__)
  return reinterpret_cast<Floats>(
      _mm512_fmadd_ps(reinterpret_cast<__m512>(a), reinterpret_cast<__m512>(b), reinterpret_cast<__m512>(c)));
#elif defined(__FMA__)
  return reinterpret_cast<Floats>(
      _mm256_fmadd_ps(reinterpret_cast<__m256>(a), reinterpret_cast<__m256>(b), reinterpret_cast<__m256>(c)));
#else
  for (unsigned i = 0; i < kFloats; ++i) c[i] = std::fma(a[i], b[i], c[i]);
  return c;
#endif
}

[[gnu::always_inline]] inline Doubles multiply_add(Doubles a, Doubles b, Doubles c) noexcept {
#if defined(__AVX512F__)
  return reinterpret_cast<Doubles>(
      _mm512_fmadd_pd(reinterpret_cast<__m512d>(a), reinterpret_cast<__m512d>(b), reinterpret_cast<__m512d>(c)));
#elif defined(__FMA__)
  return reinterpret_cast<Doubles>(
      _mm256_fmadd_pd(reinterpret_cast<__m256d>(a), reinterpret_cast<__m256d>(b), reinterpret_cast<__m256d>(c)));
#else
  for (unsigned i = 0; i < kDoubles; ++i) c[i] = std::fma(a[i], b[i], c[i]);
  return c;
#endif
}

[[gnu::always_inline]] inline Floats broadcast(float value) noexcept {
  return Floats{} + value;
}
[[gnu::always_inline]] inline Doubles broadcast(double value) noexcept {
  return Doubles{} + value;
}

}  // namespace ckgen::emu
