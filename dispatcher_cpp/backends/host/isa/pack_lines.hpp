// Packing of what is contiguous in K by vectors of sixteen words, as they are or decoded; compiled once per ISA.
// Included by isa/pack.hpp only. Everything is in an unnamed namespace for the reason isa/table.hpp gives.
#pragma once

#include "backends/host/isa/elements.hpp"
#include "backends/host/isa/pack_bytes.hpp"
#include "backends/host/isa/transpose.hpp"

#include <cstdint>

#include <immintrin.h>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

#if CKGEN_HOST_LEVEL >= 4
template <DType T, PackKind KIND>
constexpr bool is_of_halves() {
  return (T == DType::fp16 || T == DType::bf16) && KIND == PackKind::f32;
}
template <DType T, PackKind KIND>
constexpr bool packs_lines() {
  return (T == DType::fp32 && KIND == PackKind::f32) || (T == DType::bf16 && KIND == PackKind::bf16) ||
         KIND == PackKind::i8 || is_of_halves<T, KIND>();
}

constexpr int kBlockRows = 16;

// Up to sixteen rows of a panel.
struct Block {
  const unsigned char* rows[kBlockRows];  // where there are fewer, the last comes again
  int count, lanes;                       // rows that are there, and words of the panel that they are for
};

// From where a line of each row begins: sixteen words. What comes soon lies `ahead` bytes from there, and is asked for
// no nearer than the second-level cache, as rows a power of two apart share few sets of the first one.
[[gnu::always_inline]] inline void load_lines(const Block& block, std::int64_t at, std::int64_t ahead,
                                              __m512i (&v)[kBlockRows]) {
#pragma GCC unroll 16
  for (int i = 0; i < kBlockRows; ++i) {
    const unsigned char* line = block.rows[i] + at;
    v[i] = _mm512_loadu_si512(line);
    __builtin_prefetch(
        reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(line) + static_cast<std::uintptr_t>(ahead)), 0,
        2);
  }
}
// The same of the first bytes of a line, or of fewer rows; what is missing is zero.
inline void load_some(const Block& block, std::int64_t at, std::int64_t bytes, __m512i (&v)[kBlockRows]) {
  const __mmask64 there = ~std::uint64_t{0} >> (64 - bytes);
#pragma GCC unroll 16
  for (int i = 0; i < kBlockRows; ++i)
    v[i] = i < block.count ? _mm512_maskz_loadu_epi8(there, block.rows[i] + at) : _mm512_setzero_si512();
}

// Bytes of rows, `ld_bytes` apart, ahead of their first whole cache line; a line's where they begin with one, where
// rows differ in that or where lines do not begin with a word. A line that is read in two halves is fetched twice:
// sixteen rows a power of two apart share a set that holds eight.
inline std::int64_t first_bytes(const unsigned char* row, std::int64_t ld_bytes) {
  constexpr std::int64_t kLine = 64;
  const std::int64_t ahead = -static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(row)) & (kLine - 1);
  return ahead == 0 || ahead % 4 != 0 || ld_bytes % kLine != 0 ? kLine : ahead;
}

// What words of a row become, and how many each of them: themselves, with some bits turned, or their halves as fp32.
struct AsTheyAre {
  static constexpr int kWords = 1;
  void operator()(__m512i word, __m512i (&out)[1]) const { out[0] = word; }
};
struct Turned {
  static constexpr int kWords = 1;
  void operator()(__m512i word, __m512i (&out)[1]) const { out[0] = _mm512_xor_si512(word, bits); }
  __m512i bits;
};
template <DType T>
struct Halves {
  static constexpr int kWords = 2;
  void operator()(__m512i word, __m512i (&out)[2]) const {
    const __m512i high = _mm512_srli_epi32(word, 16);
    if constexpr (T == DType::bf16) {
      out[0] = _mm512_slli_epi32(word, 16);
      out[1] = _mm512_slli_epi32(high, 16);
    } else {
      out[0] = _mm512_castps_si512(_mm512_cvtph_ps(_mm512_cvtepi32_epi16(word)));
      out[1] = _mm512_castps_si512(_mm512_cvtph_ps(_mm512_cvtepi32_epi16(high)));
    }
  }
};

// Line by line through registers into the panel, of which word w is `width` words behind word w - 1; `first` bytes at
// first. ALL: words have all sixteen lanes.
template <bool ALL, class Words>
void pack_block(const Block& block, const Words& words_of, std::int64_t first, std::int64_t bytes, std::int64_t jump,
                int width, std::uint32_t* out) {
  constexpr std::int64_t kLine = 64, kAhead = 512, kBytes = 4 / Words::kWords;
  const __mmask16 live = static_cast<__mmask16>((1U << block.lanes) - 1);
  for (std::int64_t at = 0, take = first; at < bytes; at += take, take = kLine) {
    const std::int64_t left = bytes - at, some = least(left, take), words = (some + kBytes - 1) / kBytes;
    __m512i v[kBlockRows];
    if (some == kLine && block.count == block.lanes)
      load_lines(block, at, left > kAhead ? kAhead : jump + kAhead, v);
    else
      load_some(block, at, some, v);
    transpose16(v);
#pragma GCC unroll 16
    for (int w = 0; w < 16; ++w) {  // constant indices alone keep v in registers
      __m512i made[Words::kWords];
      if (w * Words::kWords >= words) break;
      words_of(v[w], made);
#pragma GCC unroll 2
      for (int i = 0; i < Words::kWords; ++i) {
        const int at_word = w * Words::kWords + i;
        if (at_word >= words) break;
        if constexpr (ALL)
          _mm512_storeu_si512(out + at_word * width, made[i]);
        else
          _mm512_mask_storeu_epi32(out + at_word * width, live, made[i]);
      }
    }
    out += words * width;
  }
}

// BYTES: of an element in memory.
template <int BYTES, class Words>
void pack_lines(const PackSource& s, const Words& words_of, std::int64_t p0, std::int64_t count, int width,
                std::int64_t k0, std::int64_t length, std::uint32_t* panel) {
  // Of the lines ahead, those beyond the end of the rows are those of the next panel.
  const std::int64_t bytes = length * BYTES, jump = width * s.ld * BYTES - bytes;
  Block block;
  for (int r = 0; r < width; r += kBlockRows) {
    block.lanes = static_cast<int>(least(kBlockRows, width - r));
    block.count = static_cast<int>(count - r < 0 ? 0 : least(block.lanes, count - r));
    for (std::int64_t i = 0; i < kBlockRows; ++i) {
      const std::int64_t p = p0 + least(r + i, count - 1);
      block.rows[i] = s.base + ((s.rows == nullptr ? p : std::int64_t{s.rows[p]}) * s.ld + k0) * BYTES;
    }
    const auto pack = block.lanes == kBlockRows ? &pack_block<true, Words> : &pack_block<false, Words>;
    pack(block, words_of, first_bytes(block.rows[0], s.ld * BYTES), bytes, jump, width, panel + r);
  }
}

template <DType T, PackKind KIND>
void pack_lines(const PackSource& s, std::int64_t p0, std::int64_t count, int width, std::int64_t k0,
                std::int64_t length, std::uint32_t* panel) {
  constexpr int kBytes = 4 / elements_per_word(KIND);
  if constexpr (is_of_halves<T, KIND>()) {
    pack_lines<2>(s, Halves<T>{}, p0, count, width, k0, length, panel);
  } else if constexpr (KIND == PackKind::i8 && CKGEN_HOST_LEVEL >= 5) {
    const Turned turned{_mm512_set1_epi32(static_cast<int>(added_to_bytes(s)))};
    pack_lines<kBytes>(s, turned, p0, count, width, k0, length, panel);
  } else {
    pack_lines<kBytes>(s, AsTheyAre{}, p0, count, width, k0, length, panel);
  }
}
#endif

}  // namespace
}  // namespace host
}  // namespace v1
}  // namespace ckgen
