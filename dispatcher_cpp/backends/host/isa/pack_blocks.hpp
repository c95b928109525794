// Packing of what is contiguous in K by vectors of eight words, for CPUs without wider ones; compiled once per ISA.
// Included by isa/pack.hpp only. Everything is in an unnamed namespace for the reason isa/table.hpp gives.
#pragma once

#include "backends/host/isa/elements.hpp"
#include "backends/host/isa/transpose.hpp"

#include <cstdint>

#include <immintrin.h>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

#if CKGEN_HOST_LEVEL < 4
// Elements that eight words are made of, in registers.
template <DType T, PackKind KIND>
constexpr bool packs_in_registers() {
  return KIND == PackKind::i16 || has_second(T);
}
template <DType T>
inline __m256 eight_words(const unsigned char* from) {
  if constexpr (T == DType::fp32) {
    return _mm256_loadu_ps(reinterpret_cast<const float*>(from));
  } else {
    const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i_u*>(from));
    if constexpr (T == DType::bf16) return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(v), 16));
    if constexpr (T == DType::fp16) return _mm256_cvtph_ps(v);
    if constexpr (T == DType::int8) return _mm256_castsi256_ps(_mm256_cvtepi8_epi16(v));
  }
}

template <DType T>
[[gnu::noinline]] __m256 some_words(const unsigned char* from, std::int64_t bytes) {
  unsigned char some[32] = {};
  copy_run(some, from, bytes);
  return eight_words<T>(some);
}

// From memory through registers into the panel, a cache line of eight rows at a time: rows a power of two apart have
// one set of the first-level cache.
template <DType T, PackKind KIND>
void pack_blocks(const PackSource& s, std::int64_t p0, std::int64_t count, int width, std::int64_t k0,
                 std::int64_t length, std::uint32_t* panel) {
  constexpr std::int64_t e = KIND == PackKind::f32 ? 1 : 2, kBytes = storage_bits(T) / 8, kBlock = 8 * e;  // elements
  constexpr std::int64_t kLine = 64 / kBytes;
  // Of a panel narrower than a vector the next word overwrites what a store is too long.
  const std::uint32_t* const behind = panel + (length + e - 1) / e * width;
  const unsigned char* rows[(kMaxWidth + 7) / 8 * 8];
  for (std::int64_t r = 0; r < (width + 7) / 8 * 8; ++r) {  // what is missing is the last one once more
    const std::int64_t p = p0 + least(r, count - 1);
    rows[r] = s.base + ((s.rows == nullptr ? p : std::int64_t{s.rows[p]}) * s.ld + k0) * kBytes;
  }
  for (std::int64_t line = 0; line < length; line += kLine) {
    const std::int64_t end = least(line + kLine, length);
    for (int r = 0; r < width; r += 8) {
      const int lanes = width - r < 8 ? width - r : 8;
      for (std::int64_t k = line; k < end; k += kBlock) {
        std::uint32_t* out = panel + k / e * width + r;
        __m256 v[8];
        if (r + lanes <= count && k + kBlock <= end) {
#pragma GCC unroll 8
          for (int i = 0; i < 8; ++i) v[i] = eight_words<T>(rows[r + i] + k * kBytes);
        } else {  // what is missing is zero
          const std::int64_t take = least(kBlock, end - k);
          for (int i = 0; i < 8; ++i) {
            if (r + i >= count)
              v[i] = _mm256_setzero_ps();
            else if (take == kBlock)
              v[i] = eight_words<T>(rows[r + i] + k * kBytes);
            else
              v[i] = some_words<T>(rows[r + i] + k * kBytes, take * kBytes);
          }
        }
        transpose8(v);
        const std::int64_t words = least(8, (end - k + e - 1) / e);
        if (words == 8 && (lanes == 8 || (width < 8 && out + 7 * width + 8 <= behind))) {
#pragma GCC unroll 8
          for (int w = 0; w < 8; ++w) _mm256_storeu_ps(reinterpret_cast<float*>(out + w * width), v[w]);
        } else {
          for (std::int64_t w = 0; w < words; ++w) store_lanes(out + w * width, v[w], lanes);
        }
      }
    }
  }
}
#endif

}  // namespace
}  // namespace host
}  // namespace v1
}  // namespace ckgen
