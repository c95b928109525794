// Decoders of isa/small.hpp: a part of a row of B as vectors, compiled once per ISA. Included by the files of
// levels only.
#pragma once

#include "backends/host/isa/code_tables.hpp"
#include "backends/host/isa/pack.hpp"

#include <immintrin.h>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

enum class Order {
  natural,
  blocks,    // per chunk: its even blocks of 8, then its odd ones, as in-lane unpacking leaves bytes
  pairs_64,  // per chunk: its even elements, then its odd ones
  pairs_32,  // the same per half of a chunk
};

constexpr int place(Order order, int i) {
  switch (order) {
    case Order::natural: return i;
    case Order::blocks: return i / 8 % 2 * 32 + i / 16 * 8 + i % 8;
    case Order::pairs_64: return i % 2 * 32 + i / 2;
    case Order::pairs_32: return i / 32 * 32 + i % 2 * 16 + i % 32 / 2;
  }
  return i;
}

// ---- sixteen fp32 lanes -------------------------------------------------------------------------------------------

inline __m128 half_sum(__m256 v) {
  return _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
}
inline float sum_of(__m128 v) {
  const __m128 x = _mm_add_ps(v, _mm_movehl_ps(v, v));
  return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
}
inline float sum_of(__m256 v) {
  return sum_of(half_sum(v));
}
inline std::int32_t sum_of(__m256i v) {
  __m128i x = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  x = _mm_add_epi32(x, _mm_unpackhi_epi64(x, x));
  return _mm_cvtsi128_si32(_mm_add_epi32(x, _mm_shuffle_epi32(x, 1)));
}

// sum_of each of four, by the same additions.
inline __m128 sums_of(__m128 a, __m128 b, __m128 c, __m128 d) {
  const __m128 ab = _mm_add_ps(_mm_movelh_ps(a, b), _mm_movehl_ps(b, a));
  const __m128 cd = _mm_add_ps(_mm_movelh_ps(c, d), _mm_movehl_ps(d, c));
  return _mm_add_ps(_mm_shuffle_ps(ab, cd, 0x88), _mm_shuffle_ps(ab, cd, 0xdd));
}

constexpr int kColumns = kSmallColumns;
#if CKGEN_HOST_LEVEL >= 4
// A sum waits for itself: those of four rows of B keep both units for FMA at work.
constexpr int columns_at_once(int) {
  return kColumns;
}
using F16 = __m512;
inline F16 load_16(const float* p) {
  return _mm512_loadu_ps(p);
}
inline F16 all_16(float x) {
  return _mm512_set1_ps(x);
}
inline F16 mul_16(F16 a, F16 b) {
  return _mm512_mul_ps(a, b);
}
inline F16 fma_16(F16 a, F16 b, F16 c) {
  return _mm512_fmadd_ps(a, b, c);
}
inline __m128 quarter_sum(F16 v) {
  return half_sum(_mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1)));
}
inline F16 from_fp16(__m256i h) {
  return _mm512_cvtph_ps(h);
}
inline F16 from_bf16(__m256i h) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(h), 16));
}
#else
// Of them those whose sums are in registers together, with so many rows of A.
constexpr int columns_at_once(int rows) {
  return rows == 1 ? 4 : rows < 4 ? 2 : 1;
}
struct F16 {
  __m256 low, high;
};
inline F16 load_16(const float* p) {
  return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)};
}
inline F16 all_16(float x) {
  return {_mm256_set1_ps(x), _mm256_set1_ps(x)};
}
inline F16 mul_16(F16 a, F16 b) {
  return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)};
}
inline F16 fma_16(F16 a, F16 b, F16 c) {
  return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
}
inline __m128 quarter_sum(F16 v) {
  return half_sum(_mm256_add_ps(v.low, v.high));
}
inline F16 from_fp16(__m256i h) {
  return {_mm256_cvtph_ps(_mm256_castsi256_si128(h)), _mm256_cvtph_ps(_mm256_extracti128_si256(h, 1))};
}
inline F16 from_bf16(__m256i h) {
  const __m256i low = _mm256_cvtepu16_epi32(_mm256_castsi256_si128(h));
  const __m256i high = _mm256_cvtepu16_epi32(_mm256_extracti128_si256(h, 1));
  return {_mm256_castsi256_ps(_mm256_slli_epi32(low, 16)), _mm256_castsi256_ps(_mm256_slli_epi32(high, 16))};
}
#endif

inline float sum_of(F16 v) {
  return sum_of(quarter_sum(v));
}
inline __m128 sums_of(F16 a, F16 b, F16 c, F16 d) {
  return sums_of(quarter_sum(a), quarter_sum(b), quarter_sum(c), quarter_sum(d));
}

inline __m128i load_128(const unsigned char* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i_u*>(p));
}
inline __m256i load_256(const unsigned char* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(p));
}

// ---- decoders to fp32: 32 elements ----------------------------------------------------------------------------------

struct Fp32ToF32 {
  static constexpr int kBits = 32;
  static constexpr Order kOrder = Order::natural;
  explicit Fp32ToF32(const SmallCall&) {}
  void operator()(const unsigned char* p, F16 (&x)[2]) const {
    for (int i = 0; i < 2; ++i) x[i] = load_16(reinterpret_cast<const float*>(p) + 16 * i);
  }
};

struct Fp16ToF32 {
  static constexpr int kBits = 16;
  static constexpr Order kOrder = Order::natural;
  explicit Fp16ToF32(const SmallCall&) {}
  void operator()(const unsigned char* p, F16 (&x)[2]) const {
    for (int i = 0; i < 2; ++i) x[i] = from_fp16(load_256(p + 32 * i));
  }
};

struct Bf16ToF32 {
  static constexpr int kBits = 16;
  static constexpr Order kOrder = Order::natural;
  explicit Bf16ToF32(const SmallCall&) {}
  void operator()(const unsigned char* p, F16 (&x)[2]) const {
    for (int i = 0; i < 2; ++i) x[i] = from_bf16(load_256(p + 32 * i));
  }
};

struct Bf8ToF32 {
  static constexpr int kBits = 8;
  static constexpr Order kOrder = Order::natural;
  explicit Bf8ToF32(const SmallCall&) {}
  void operator()(const unsigned char* p, F16 (&x)[2]) const {
    for (int i = 0; i < 2; ++i) x[i] = from_fp16(_mm256_slli_epi16(_mm256_cvtepu8_epi16(load_128(p + 16 * i)), 8));
  }
};

// fp8_ocp or fp8_fnuz: as fp16 with the exponent's bias of fp16, then the difference of the biases; NaN is the one code
// that fp16 lacks, of both signs or of none.
struct Fp8ToF32 {
  static constexpr int kBits = 8;
  static constexpr Order kOrder = Order::natural;
  explicit Fp8ToF32(const SmallCall& call) {
    constexpr int kNegativeZero = 0x80;
    const bool fnuz = call.table[kNegativeZero] != call.table[kNegativeZero];
    nan = _mm256_set1_epi16(fnuz ? kNegativeZero : 0x7f);
    of_nan = _mm256_set1_epi16(fnuz ? 0xff : 0x7f);
    bias = all_16(fnuz ? 128.0F : 256.0F);
  }
  void operator()(const unsigned char* p, F16 (&x)[2]) const {
    for (int i = 0; i < 2; ++i) x[i] = sixteen(_mm256_cvtepu8_epi16(load_128(p + 16 * i)));
  }
  F16 sixteen(__m256i codes) const {
    const __m256i shifted = _mm256_srai_epi16(_mm256_slli_epi16(codes, 8), 1);
    const __m256i half = _mm256_and_si256(shifted, _mm256_set1_epi16(static_cast<short>(0xbf80)));
    const __m256i all_ones = _mm256_cmpeq_epi16(_mm256_and_si256(codes, of_nan), nan);
    return mul_16(from_fp16(_mm256_or_si256(half, all_ones)), bias);
  }
  __m256i nan, of_nan;  // codes & of_nan == nan
  F16 bias;
};

// Any other 8-bit float.
struct CodeToF32 {
  static constexpr int kBits = 8;
  static constexpr Order kOrder = Order::natural;
  explicit CodeToF32(const SmallCall& call) : table(call.table) {}
  void operator()(const unsigned char* p, F16 (&x)[2]) const {
    float values[32];
    for (int i = 0; i < 32; ++i) values[i] = table[p[i]];
    for (int i = 0; i < 2; ++i) x[i] = load_16(values + 16 * i);
  }
  const float* table;
};

// fp4 or int4, whose sixteen values have at most three significant bits.
struct NibbleToF32 {
  static constexpr int kBits = 4;
  static constexpr Order kOrder = Order::pairs_32;
#if CKGEN_HOST_LEVEL >= 4
  explicit NibbleToF32(const SmallCall& call) : table(nibble_values(call.pairs)) {}
  void operator()(const unsigned char* p, F16 (&x)[2]) const {
    const __m512i bytes = _mm512_cvtepu8_epi32(load_128(p));
    x[0] = _mm512_permutexvar_ps(bytes, table);  // looks at four bits
    x[1] = _mm512_permutexvar_ps(_mm512_srli_epi32(bytes, 4), table);
  }
  __m512 table;
#else
  explicit NibbleToF32(const SmallCall& call)
      : table(_mm_packus_epi16(eight_values(call.pairs[0]), eight_values(call.pairs[8]))) {}
  // The first values of eight pairs: the upper bytes of them as fp16, whose lower ones are 0.
  static __m128i eight_values(const float* pairs) {
    const __m256 first = _mm256_shuffle_ps(_mm256_loadu_ps(pairs), _mm256_loadu_ps(pairs + 8), 0x88);
    const __m256d in_order = _mm256_permute4x64_pd(_mm256_castps_pd(first), 0xd8);
    return _mm_srli_epi16(_mm256_cvtps_ph(_mm256_castpd_ps(in_order), _MM_FROUND_TO_NEAREST_INT), 8);
  }
  void operator()(const unsigned char* p, F16 (&x)[2]) const {
    const __m128i bytes = load_128(p), low = _mm_set1_epi8(15);
    x[0] = sixteen(_mm_and_si128(bytes, low));
    x[1] = sixteen(_mm_and_si128(_mm_srli_epi16(bytes, 4), low));
  }
  F16 sixteen(__m128i codes) const {
    const __m128i upper = _mm_shuffle_epi8(table, codes), zero = _mm_setzero_si128();
    return {_mm256_cvtph_ps(_mm_unpacklo_epi8(zero, upper)), _mm256_cvtph_ps(_mm_unpackhi_epi8(zero, upper))};
  }
  __m128i table;
#endif
};

// ---- decoders to bf16: 64 elements ----------------------------------------------------------------------------------

#if CKGEN_HOST_LEVEL >= 5
struct Bf16ToBf16 {
  static constexpr int kBits = 16;
  static constexpr Order kOrder = Order::natural;
  explicit Bf16ToBf16(const SmallCall&) {}
  void operator()(const unsigned char* p, __m512i (&x)[2]) const {
    for (int i = 0; i < 2; ++i) x[i] = _mm512_loadu_si512(p + 64 * i);
  }
};

template <DType T>
struct Fp8ToBf16 : Fp8Table<T> {
  static constexpr int kBits = 8;
  static constexpr Order kOrder = Order::blocks;
  explicit Fp8ToBf16(const SmallCall& call) : Fp8Table<T>(call.table16) {}
  explicit Fp8ToBf16(const std::uint16_t* table16) : Fp8Table<T>(table16) {}
  void operator()(const unsigned char* p, __m512i (&x)[2]) const { this->lanes(_mm512_loadu_si512(p), x[0], x[1]); }
};

struct NibbleToBf16 {
  static constexpr int kBits = 4;
  static constexpr Order kOrder = Order::pairs_64;
  explicit NibbleToBf16(const SmallCall& call) {
    const __m512i words = _mm512_srli_epi32(_mm512_castps_si512(nibble_values(call.pairs)), 16);
    table = _mm512_broadcast_i64x4(_mm512_cvtepi32_epi16(words));
  }
  void operator()(const unsigned char* p, __m512i (&x)[2]) const {
    const __m512i bytes = _mm512_cvtepu8_epi16(load_256(p));
    x[0] = _mm512_permutexvar_epi16(bytes, table);  // looks at five bits; the values are there twice
    x[1] = _mm512_permutexvar_epi16(_mm512_srli_epi16(bytes, 4), table);
  }
  __m512i table;
};
#endif

}  // namespace
}  // namespace host
}  // namespace v1
}  // namespace ckgen
