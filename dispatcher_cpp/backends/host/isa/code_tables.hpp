// Codes of 8 and 4 bits to bf16, compiled once per ISA.
// Included by the files of levels only. Everything is in an unnamed namespace for the reason isa/table.hpp gives.
#pragma once

#include "backends/host/isa/table.hpp"

#include <immintrin.h>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

#if CKGEN_HOST_LEVEL >= 4
// The values of the sixteen codes of fp4 or int4, of PackSource::pairs.
inline __m512 nibble_values(const float (*pairs)[2]) {
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  return _mm512_permutex2var_ps(_mm512_loadu_ps(pairs[0]), even, _mm512_loadu_ps(pairs[8]));
}
#endif

#if CKGEN_HOST_LEVEL >= 5
// The values of fp4 twice, as bf16.
struct Fp4Table {
  explicit Fp4Table(const float (*pairs)[2]) {
    const __m512i upper = _mm512_srli_epi32(_mm512_castps_si512(nibble_values(pairs)), 16);
    values = _mm512_broadcast_i64x4(_mm512_cvtepi32_epi16(upper));
  }
  /// Of each word's first byte its two values.
  __m512i words(__m512i codes) const {
    const __m512i both = _mm512_mask_blend_epi16(0xaaaaaaaa, codes, _mm512_slli_epi32(codes, 12));
    return _mm512_permutexvar_epi16(both, values);  // looks at five bits
  }
  __m512i values;
};

struct EvenBytes {
  unsigned char value[64] = {};
  constexpr EvenBytes() {
    for (int i = 0; i < 64; ++i) value[i] = static_cast<unsigned char>(2 * i);
  }
};
constexpr EvenBytes kEvenBytes;

// T = fp8_ocp stands for both formats with a negative zero, fp8_fnuz for those without. Both bytes of the 128
// magnitudes' values are in registers; the sign is the code's.
template <DType T>
struct Fp8Table {
  explicit Fp8Table(const std::uint16_t* table16) {
    const __m512i low = _mm512_loadu_si512(kEvenBytes.value);
    const __m512i high = _mm512_add_epi8(low, _mm512_set1_epi8(1));
    for (int i = 0; i < 2; ++i) {
      const __m512i first = _mm512_loadu_si512(table16 + 64 * i), last = _mm512_loadu_si512(table16 + 64 * i + 32);
      part[0][i] = _mm512_permutex2var_epi8(first, low, last);
      part[1][i] = _mm512_permutex2var_epi8(first, high, last);
    }
  }
  /// Of 64 codes, in their order.
  void bytes(__m512i codes, __m512i& low, __m512i& high) const {
    const __m512i sign = _mm512_set1_epi8(static_cast<char>(0x80));
    low = _mm512_permutex2var_epi8(part[0][0], codes, part[0][1]);  // looks at seven bits
    high = _mm512_permutex2var_epi8(part[1][0], codes, part[1][1]);
    if constexpr (T == DType::fp8_fnuz) {  // what would be -0 is NaN
      const __mmask64 nan = _mm512_cmpeq_epi8_mask(codes, sign);
      low = _mm512_mask_mov_epi8(low, nan, _mm512_set1_epi8(static_cast<char>(0xc0)));
      high = _mm512_mask_mov_epi8(high, nan, _mm512_set1_epi8(0x7f));
    }
    high = _mm512_ternarylogic_epi32(high, codes, sign, 0xf8);  // high | (codes & sign)
  }
  /// The values of each lane's first eight codes, then of its last eight.
  void lanes(__m512i codes, __m512i& first, __m512i& last) const {
    __m512i low, high;
    bytes(codes, low, high);
    first = _mm512_unpacklo_epi8(low, high);
    last = _mm512_unpackhi_epi8(low, high);
  }
  /// Two words of values of each word of four codes: the first two's, then the last two's.
  void words(__m512i codes, __m512i& first, __m512i& last) const {
    const __m512i pairs = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15));
    lanes(_mm512_shuffle_epi8(codes, pairs), first, last);
  }
  /// 64 values in the order of their codes.
  void run(__m512i codes, __m512i& first, __m512i& last) const {
    const __m512i halves = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
    lanes(_mm512_permutexvar_epi64(halves, codes), first, last);
  }
  __m512i part[2][2];
};

// `n` codes as so many values and, up to a whole word, 0.
template <DType T>
inline void decode_codes(const Fp8Table<T>& table, const unsigned char* in, std::int64_t n, std::uint16_t* out) {
  __m512i first, last;
  for (; n >= 64; n -= 64, in += 64, out += 64) {
    table.run(_mm512_loadu_si512(in), first, last);
    _mm512_storeu_si512(out, first);
    _mm512_storeu_si512(out + 32, last);
  }
  if (n == 0) return;
  table.run(_mm512_maskz_loadu_epi8((std::uint64_t{1} << n) - 1, in), first, last);
  const std::uint64_t words = (std::uint64_t{1} << (n + 1) / 2) - 1;
  _mm512_mask_storeu_epi32(out, static_cast<__mmask16>(words), first);
  _mm512_mask_storeu_epi32(out + 32, static_cast<__mmask16>(words >> 16), last);
}
#endif

}  // namespace
}  // namespace host
}  // namespace v1
}  // namespace ckgen
