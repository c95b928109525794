// Packing of what is contiguous in K and packed as it is, by vectors of sixteen words; compiled once per ISA.
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
constexpr bool packs_as_it_is() {
  return (T == DType::fp32 && KIND == PackKind::f32) || (T == DType::bf16 && KIND == PackKind::bf16) ||
         KIND == PackKind::i8;
}

constexpr int kBlockRows = 16;

// Up to sixteen rows of a panel.
struct Block {
  const unsigned char* rows[kBlockRows];  // where there are fewer, the last comes again
  int count, lanes;                       // rows that are there, and words of the panel that they are for
  std::uint32_t added;                    // exclusive-ored with each word
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

// Line by line through registers into the panel, of which word w is `width` words behind word w - 1; `first` bytes at
// first. ALL: words have all sixteen lanes. ADDS: `added` is not 0.
template <bool ALL, bool ADDS>
void pack_block(const Block& block, std::int64_t first, std::int64_t bytes, std::int64_t jump, int width,
                std::uint32_t* out) {
  constexpr std::int64_t kLine = 64, kAhead = 512;  // bytes
  const __m512i added = _mm512_set1_epi32(static_cast<int>(block.added));
  const __mmask16 live = static_cast<__mmask16>((1U << block.lanes) - 1);
  for (std::int64_t at = 0, take = first; at < bytes; at += take, take = kLine) {
    const std::int64_t left = bytes - at, some = least(left, take), words = (some + 3) / 4;
    __m512i v[kBlockRows];
    if (some == kLine && block.count == block.lanes)
      load_lines(block, at, left > kAhead ? kAhead : jump + kAhead, v);
    else
      load_some(block, at, some, v);
    if constexpr (ADDS) {
#pragma GCC unroll 16
      for (int i = 0; i < kBlockRows; ++i) v[i] = _mm512_xor_si512(v[i], added);
    }
    transpose16(v);
#pragma GCC unroll 16
    for (int w = 0; w < 16; ++w) {  // constant indices alone keep v in registers
      if (w >= words) break;
      if constexpr (ALL)
        _mm512_storeu_si512(out + w * width, v[w]);
      else
        _mm512_mask_storeu_epi32(out + w * width, live, v[w]);
    }
    out += words * width;
  }
}

template <DType T, PackKind KIND>
void pack_lines(const PackSource& s, std::int64_t p0, std::int64_t count, int width, std::int64_t k0,
                std::int64_t length, std::uint32_t* panel) {
  constexpr std::int64_t kBytes = 4 / elements_per_word(KIND);  // of an element
  // Of the lines ahead, those beyond the end of the rows are those of the next panel.
  const std::int64_t bytes = length * kBytes, jump = width * s.ld * kBytes - bytes;
  Block block;
  block.added = KIND == PackKind::i8 ? added_to_bytes(s) : 0U;
  for (int r = 0; r < width; r += kBlockRows) {
    block.lanes = static_cast<int>(least(kBlockRows, width - r));
    block.count = static_cast<int>(count - r < 0 ? 0 : least(block.lanes, count - r));
    for (std::int64_t i = 0; i < kBlockRows; ++i) {
      const std::int64_t p = p0 + least(r + i, count - 1);
      block.rows[i] = s.base + ((s.rows == nullptr ? p : std::int64_t{s.rows[p]}) * s.ld + k0) * kBytes;
    }
    constexpr bool kAdds = KIND == PackKind::i8 && CKGEN_HOST_LEVEL >= 5;
    const auto pack = block.lanes == kBlockRows ? &pack_block<true, kAdds> : &pack_block<false, kAdds>;
    pack(block, first_bytes(block.rows[0], s.ld * kBytes), bytes, jump, width, panel + r);
  }
}
#endif

}  // namespace
}  // namespace host
}  // namespace v1
}  // namespace ckgen
