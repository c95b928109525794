// Words of four int8 (PackKind::i8), compiled once per ISA.
// Included by isa/pack.hpp only. Everything is in an unnamed namespace for the reason isa/table.hpp gives.
#pragma once

#include "backends/host/isa/elements.hpp"

#include <cstdint>

#include <immintrin.h>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

// What each word is exclusive-ored with, to have 128 added to its bytes.
inline std::uint32_t added_to_bytes(const PackSource& s) {
  return s.is_a && CKGEN_HOST_LEVEL >= 5 ? 0x80808080U : 0U;
}

// Words of `width` columns, of which `count` are there, from up to four rows that lie s.ld bytes apart.
inline void join_bytes(const PackSource& s, const unsigned char* first, std::int64_t rows, std::int64_t count,
                       int width, std::uint32_t* out) {
  const std::uint32_t added = added_to_bytes(s);
#if CKGEN_HOST_LEVEL >= 5
  const auto first_of = [](std::int64_t n) {
    return static_cast<__mmask16>(n >= 16 ? 0xffff : n <= 0 ? 0 : (1 << n) - 1);
  };
  for (int c = 0; c < width; c += 16) {
    __m128i v[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i)
      v[i] = i < rows ? _mm_maskz_loadu_epi8(first_of(count - c), first + i * s.ld + c) : _mm_setzero_si128();
    const __m128i low = _mm_unpacklo_epi8(v[0], v[1]), high = _mm_unpackhi_epi8(v[0], v[1]);
    const __m128i low_of_last = _mm_unpacklo_epi8(v[2], v[3]), high_of_last = _mm_unpackhi_epi8(v[2], v[3]);
    __m512i words = _mm512_castsi128_si512(_mm_unpacklo_epi16(low, low_of_last));
    words = _mm512_inserti32x4(words, _mm_unpackhi_epi16(low, low_of_last), 1);
    words = _mm512_inserti32x4(words, _mm_unpacklo_epi16(high, high_of_last), 2);
    words = _mm512_inserti32x4(words, _mm_unpackhi_epi16(high, high_of_last), 3);
    words = _mm512_xor_si512(words, _mm512_set1_epi32(static_cast<int>(added)));
    _mm512_mask_storeu_epi32(out + c, first_of(width - c), words);
  }
#else
  for (std::int64_t c = 0; c < width; ++c) {
    std::uint32_t word = 0;
    for (std::int64_t i = 0; c < count && i < rows; ++i)
      word |= static_cast<std::uint32_t>(first[i * s.ld + c]) << (8 * i);
    out[c] = word ^ added;
  }
#endif
}

}  // namespace
}  // namespace host
}  // namespace v1
}  // namespace ckgen
