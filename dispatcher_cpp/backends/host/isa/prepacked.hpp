// Panels of kernels made of prepacked ones (ckgen/prepack.hpp), compiled once per ISA. Included by isa/pack.hpp only.
// Everything is in an unnamed namespace for the reason isa/table.hpp gives.
#pragma once

#include "backends/host/isa/table.hpp"

#include <immintrin.h>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

inline __m256i load_8(const unsigned char* words) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(words));
}

// Eight source words, one of each column, to eight words of the kernel's: part `part` of what each of them makes.
template <DType T, PackKind KIND>
inline __m256i word_of_prepacked(const unsigned char* source, int part) {
  const __m256i v = load_8(source);
  if constexpr (KIND == PackKind::bf16 || KIND == PackKind::i8 || T == DType::fp32) {
    return v;
  } else if constexpr (KIND == PackKind::i16) {
    const __m256i moved = part == 0 ? _mm256_slli_epi32(v, 16) : v;  // the two bytes of this part on top
    return _mm256_blend_epi16(_mm256_srai_epi32(_mm256_slli_epi32(moved, 8), 24), _mm256_srai_epi32(moved, 8), 0xaa);
  } else if constexpr (T == DType::bf16) {
    return part == 0 ? _mm256_slli_epi32(v, 16) : _mm256_and_si256(v, _mm256_set1_epi32(static_cast<int>(0xffff0000)));
  } else {
    const __m256i half = part == 0 ? _mm256_and_si256(v, _mm256_set1_epi32(0xffff)) : _mm256_srli_epi32(v, 16);
    const __m128i halves = _mm_packus_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    return _mm256_castps_si256(_mm256_cvtph_ps(halves));
  }
}

constexpr int elements_of_prepacked(DType t) {
  return t == DType::fp32 ? 1 : t == DType::int8 ? 4 : 2;
}

// Of the words of one column those elements alone that lie in [k0, k0 + length), from wherever k0 is within a word.
template <DType T, PackKind KIND>
void pack_prepacked_bytewise(const PackSource& s, std::int64_t p0, std::int64_t count, int width, std::int64_t k0,
                             std::int64_t length, std::uint32_t* panel) {
  constexpr int from = elements_of_prepacked(T), e = elements_per_word(KIND), bytes = 4 / from;
  for (std::int64_t w = 0; w * e < length; ++w)
    for (std::int64_t j = 0; j < width; ++j) {
      std::uint32_t word = 0;
      for (int i = 0; i < e && j < count && w * e + i < length; ++i) {
        const std::int64_t p = p0 + j, k = k0 + w * e + i;
        const unsigned char* at = s.base + ((p / 16 * s.ld + k / from) * 16 + p % 16) * 4 + k % from * bytes;
        std::uint32_t one = 0;
        __builtin_memcpy(&one, at, bytes);
        if constexpr (KIND == PackKind::f32 && T == DType::bf16) one <<= 16;
        if constexpr (KIND == PackKind::f32 && T == DType::fp16) {
          const float value = _cvtsh_ss(static_cast<std::uint16_t>(one));
          __builtin_memcpy(&one, &value, 4);
        }
        if constexpr (KIND == PackKind::i16) one = static_cast<std::uint16_t>(static_cast<signed char>(one));
        word |= one << (32 / e * i);
      }
      panel[w * width + j] = word;
    }
}

template <DType T, PackKind KIND>
void pack_prepacked(const PackSource& s, std::int64_t p0, std::int64_t count, int width, std::int64_t k0,
                    std::int64_t length, std::uint32_t* panel) {
  constexpr int from = elements_of_prepacked(T), e = elements_per_word(KIND), parts = from / e;
  // Eight columns at a time lie in one source panel; what is beyond N or K there is zero, what is beyond `length` not.
  if (p0 % 8 != 0 || width % 8 != 0 || k0 % e != 0)
    return pack_prepacked_bytewise<T, KIND>(s, p0, count, width, k0, length, panel);
  const std::int64_t first = k0 / e, words = (length + e - 1) / e;
  for (std::int64_t j = 0; j < width; j += 8) {
    const std::int64_t p = p0 + j;
    std::uint32_t* out = panel + j;
    if (j >= count) {
      for (std::int64_t w = 0; w < words; ++w) __builtin_memset(out + w * width, 0, 32);
      continue;
    }
    const unsigned char* source = s.base + (p / 16 * s.ld * 16 + p % 16) * 4;
    for (std::int64_t w = 0; w < words; ++w) {
      __m256i v = word_of_prepacked<T, KIND>(source + (first + w) / parts * 64, static_cast<int>((first + w) % parts));
      const std::int64_t left = length - w * e;
      if (left < e) v = _mm256_and_si256(v, _mm256_set1_epi32((1 << (32 / e * left)) - 1));
      _mm256_storeu_si256(reinterpret_cast<__m256i_u*>(out + w * width), v);
    }
  }
}

}  // namespace
}  // namespace host
}  // namespace v1
}  // namespace ckgen
