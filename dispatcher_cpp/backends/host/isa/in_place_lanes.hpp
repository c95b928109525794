// More rows of A than a panel has times B where it lies, bf16 by dot products; compiled once per ISA. Included by
// isa/in_place.hpp only. Everything is in an unnamed namespace for the reason isa/table.hpp gives.
//
// The rows of A are the lanes of a vector. Sixteen rows of B are copied a line each to where they share no set of the
// first-level cache, and their words broadcast from there: nothing is transposed but the sums, which are added up in
// the order of all other kernels. Lanes beyond the rows have sums that nobody takes.
#pragma once

#include "backends/host/isa/elements.hpp"
#include "backends/host/isa/micro.hpp"
#include "backends/host/isa/pack_lines.hpp"
#include "backends/host/isa/transpose.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

#if CKGEN_HOST_LEVEL >= 5
constexpr std::int64_t kLanesOfPanel = 8;

// Whether the rows are those of two panels, and all their sums are to be written.
inline bool fills_lanes(const InPlaceCall& c) {
  return c.rows > c.mr && c.rows <= 2 * c.mr && c.mr <= kLanesOfPanel && c.flags == 0;
}

// A word of two panels of at most eight rows; beyond a panel's rows a lane has what lies there.
inline VecI rows_of_word(const InPlaceCall& c, const std::uint32_t* a) {
  return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(a))),
                            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(a + c.panel_words)), 1);
}

// Lines of 16 rows of B side by side, and what comes `ahead` bytes later asked for.
[[gnu::always_inline]] inline void copy_lines(const unsigned char* const* rows, std::int64_t at, std::int64_t ahead,
                                              std::int32_t (*lines)[kLineWords]) {
#pragma GCC unroll 16
  for (int i = 0; i < kLineRows; ++i) {
    const unsigned char* line = rows[i] + at;
    _mm512_store_si512(lines[i], _mm512_loadu_si512(line));
    __builtin_prefetch(
        reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(line) + static_cast<std::uintptr_t>(ahead)), 0,
        2);
  }
}

// sum[j] += `words` words of row j of B times those of the rows of A.
[[gnu::always_inline]] inline void add_lanes(const InPlaceCall& c, std::int64_t words, const std::uint32_t* a,
                                             const std::int32_t (*lines)[kLineWords], VecF (&sum)[kLineRows]) {
  for (std::int64_t w = 0; w < words; ++w, a += c.mr) {
    const VecI av = rows_of_word(c, a);
#pragma GCC unroll 16
    for (int j = 0; j < kLineRows; ++j)
      sum[j] = _mm512_dpbf16_ps(sum[j], (__m512bh)broadcast_i(lines[j][w]), (__m512bh)av);
  }
}

// The first `bytes` of a line, at most 64; what is missing is zero.
inline void copy_part(const unsigned char* const* rows, std::int64_t at, std::int64_t bytes,
                      std::int32_t (*lines)[kLineWords]) {
  const __mmask64 live = ~std::uint64_t{0} >> (64 - bytes);
#pragma GCC unroll 16
  for (int i = 0; i < kLineRows; ++i) _mm512_store_si512(lines[i], _mm512_maskz_loadu_epi8(live, rows[i] + at));
}

void in_place_lanes(const InPlaceCall& c) {
  constexpr std::int64_t kLine = 64, kAhead = 512;  // bytes
  const std::int64_t bytes = c.depth * 2, jump = kLineRows * c.b->ld * 2 - bytes;
  alignas(64) std::int32_t lines[kLineRows][kLineWords];
  for (std::int64_t n = 0; n < c.columns; n += kLineRows) {
    const unsigned char* rows[kLineRows];
    for (std::int64_t i = 0; i < kLineRows; ++i)  // what is missing is the last one once more
      rows[i] = c.b->base + ((c.n0 + least(n + i, c.columns - 1)) * c.b->ld + c.k0) * 2;
    VecF sum[kLineRows];
#pragma GCC unroll 16
    for (int j = 0; j < kLineRows; ++j) sum[j] = zero_f();
    const std::uint32_t* a = c.a;
    std::int64_t at = least(bytes, first_bytes(rows[0], c.b->ld * 2)) % kLine;
    if (at > 0) {
      copy_part(rows, 0, at, lines);
      add_lanes(c, (at + 3) / 4, a, lines, sum);
      a += (at + 3) / 4 * c.mr;
    }
    for (; at + kLine <= bytes; at += kLine, a += kLineWords * c.mr) {
      copy_lines(rows, at, bytes - at > kAhead ? kAhead : jump + kAhead, lines);
      add_lanes(c, kLineWords, a, lines, sum);
    }
    if (at < bytes) {
      copy_part(rows, at, bytes - at, lines);
      add_lanes(c, (bytes - at + 3) / 4, a, lines, sum);
    }
    VecI by_lane[kLineRows];
#pragma GCC unroll 16
    for (int j = 0; j < kLineRows; ++j) by_lane[j] = _mm512_castps_si512(sum[j]);
    transpose16(by_lane);
#pragma GCC unroll 16
    for (int lane = 0; lane < kLineRows; ++lane) {
      const std::int64_t of_panel = lane % kLanesOfPanel, row = lane / kLanesOfPanel * c.mr + of_panel;
      if (of_panel < c.mr && row < c.rows) store_f(c.acc + row * c.ld + n, _mm512_castsi512_ps(by_lane[lane]));
    }
  }
}
#endif

}  // namespace
}  // namespace host
}  // namespace v1
}  // namespace ckgen
