// Words of rows to words of columns, compiled once per ISA.
// Included by the files of levels only. Everything is in an unnamed namespace for the reason isa/table.hpp gives.
#pragma once

#include <cstdint>

#include <immintrin.h>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

constexpr int kRowWords = 64;  // words of one row that are decoded before the rows are transposed

inline void store_lanes(std::uint32_t* out, __m256 v, int lanes) {
  if (lanes >= 8) {
    __builtin_memcpy(out, &v, 32);
    return;
  }
  __m128 part = _mm256_castps256_ps128(v);
  if (lanes & 4) {
    __builtin_memcpy(out, &part, 16);
    out += 4;
    part = _mm256_extractf128_ps(v, 1);
  }
  if (lanes & 2) {
    const double two = _mm_cvtsd_f64(_mm_castps_pd(part));
    __builtin_memcpy(out, &two, 8);
    out += 2;
    part = _mm_movehl_ps(part, part);
  }
  if (lanes & 1) {
    const float one = _mm_cvtss_f32(part);
    __builtin_memcpy(out, &one, 4);
  }
}

// v[w] becomes word w of what were rows 0 to 7.
inline void transpose8(__m256 (&v)[8]) {
  __m256 t[8];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    t[2 * i] = _mm256_unpacklo_ps(v[2 * i], v[2 * i + 1]);
    t[2 * i + 1] = _mm256_unpackhi_ps(v[2 * i], v[2 * i + 1]);
  }
#pragma GCC unroll 2
  for (int h = 0; h < 2; ++h) {
    v[4 * h + 0] = _mm256_shuffle_ps(t[4 * h], t[4 * h + 2], 0x44);
    v[4 * h + 1] = _mm256_shuffle_ps(t[4 * h], t[4 * h + 2], 0xee);
    v[4 * h + 2] = _mm256_shuffle_ps(t[4 * h + 1], t[4 * h + 3], 0x44);
    v[4 * h + 3] = _mm256_shuffle_ps(t[4 * h + 1], t[4 * h + 3], 0xee);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm256_permute2f128_ps(v[i], v[i + 4], 0x20);
    t[i + 4] = _mm256_permute2f128_ps(v[i], v[i + 4], 0x31);
  }
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) v[i] = t[i];
}

// out[w][r] = rows[r][w] for `words` words of `width` rows; an 8 x 8 block at a time. Not in line: it is much code that
// all types share.
[[gnu::noinline, maybe_unused]] void transpose(const std::uint32_t (*rows)[kRowWords], int width, int words,
                                               std::uint32_t* out) {
  for (int r = 0; r < width; r += 8) {
    const int lanes = width - r < 8 ? width - r : 8;
    for (int w = 0; w < words; w += 8) {
      __m256 v[8];
      for (int i = 0; i < 8; ++i) __builtin_memcpy(&v[i], &rows[r + i][w], 32);
      transpose8(v);
      const int live = words - w < 8 ? words - w : 8;
      for (int i = 0; i < live; ++i) store_lanes(out + (w + i) * width + r, v[i], lanes);
    }
  }
}

#if CKGEN_HOST_LEVEL >= 4
constexpr std::int64_t kLineWords = 16, kLineRows = 16;  // of a cache line, and of lines that are transposed

// v[w] becomes word w of what were rows 0 to 15.
inline void transpose16(__m512i (&v)[16]) {
  __m512i t[16];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    t[2 * i] = _mm512_unpacklo_epi32(v[2 * i], v[2 * i + 1]);
    t[2 * i + 1] = _mm512_unpackhi_epi32(v[2 * i], v[2 * i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    v[i + 0] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
    v[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
    v[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
    v[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
  // v[4 i + j] has in its 128-bit part l word 4 l + j of rows 4 i to 4 i + 3
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const __m512i even = _mm512_shuffle_i32x4(v[j], v[4 + j], 0x88), odd = _mm512_shuffle_i32x4(v[j], v[4 + j], 0xdd);
    const __m512i even_of_last = _mm512_shuffle_i32x4(v[8 + j], v[12 + j], 0x88);
    const __m512i odd_of_last = _mm512_shuffle_i32x4(v[8 + j], v[12 + j], 0xdd);
    t[j] = _mm512_shuffle_i32x4(even, even_of_last, 0x88);
    t[8 + j] = _mm512_shuffle_i32x4(even, even_of_last, 0xdd);
    t[4 + j] = _mm512_shuffle_i32x4(odd, odd_of_last, 0x88);
    t[12 + j] = _mm512_shuffle_i32x4(odd, odd_of_last, 0xdd);
  }
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) v[i] = t[i];
}
#endif

}  // namespace
}  // namespace host
}  // namespace v1
}  // namespace ckgen
