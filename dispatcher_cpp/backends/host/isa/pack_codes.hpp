// Panels of bf16 made of codes of 8 and 4 bits, by vectors of sixteen words: codes change places before they become
// values, as fewer bytes do. Compiled once per ISA. Included by isa/pack.hpp only. Everything is in an unnamed
// namespace for the reason isa/table.hpp gives.
#pragma once

#include "backends/host/isa/code_tables.hpp"
#include "backends/host/isa/elements.hpp"
#include "backends/host/isa/pack_bytes.hpp"
#include "backends/host/isa/pack_lines.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

#if CKGEN_HOST_LEVEL >= 5
// Four codes of a row as two words of bf16.
template <DType T>
struct OfCodes {
  static constexpr int kWords = 2;
  void operator()(__m512i codes, __m512i (&out)[2]) const { table.words(codes, out[0], out[1]); }
  Fp8Table<T> table;
};

// Eight codes of fp4 as four words of bf16.
struct OfNibbles {
  static constexpr int kWords = 4;
  void operator()(__m512i codes, __m512i (&out)[4]) const {
#pragma GCC unroll 4
    for (unsigned i = 0; i < 4; ++i) out[i] = table.words(_mm512_srli_epi32(codes, 8 * i));
  }
  Fp4Table table;
};

// Bytes [k0, k0 + length) of rows [p0, p0 + count) of a preshuffled B, 64 bytes apart.
inline void copy_chunks(const PackSource& s, std::int64_t p0, std::int64_t count, std::int64_t k0, std::int64_t length,
                        unsigned char (*rows)[64]) {
  constexpr std::int64_t kChunk = 16;
  for (std::int64_t r = 0; r < count; ++r) {
    const std::int64_t p = p0 + r;
    const unsigned char* row = s.base + p / 16 * 16 * s.ld + p % 16 * kChunk;
    for (std::int64_t k = k0, take = 0; k < k0 + length; k += take) {
      take = least(kChunk - k % kChunk, k0 + length - k);
      copy_run(rows[r] + (k - k0), row + k / kChunk * kChunk * 16 + k % kChunk, take);
    }
  }
}

// Of rows and lengths in bytes.
template <class Words>
void pack_bytes_by_rows(const PackSource& s, const Words& words_of, std::int64_t p0, std::int64_t count, int width,
                        std::int64_t k0, std::int64_t length, std::uint32_t* panel) {
  if (!s.preshuffled) return pack_lines<1>(s, words_of, p0, count, width, k0, length, panel);
  alignas(64) unsigned char rows[kMaxWidth][64];
  PackSource copied = s;
  copied.base = rows[0];
  copied.ld = 64;
  for (std::int64_t k = 0; k < length; k += 64, panel += 16 * Words::kWords * width) {
    const std::int64_t take = least(64, length - k);
    copy_chunks(s, p0, count, k0 + k, take, rows);
    pack_lines<1>(copied, words_of, 0, count, width, 0, take, panel);
  }
}

template <DType T>
void pack_codes_by_rows(const PackSource& s, std::int64_t p0, std::int64_t count, int width, std::int64_t k0,
                        std::int64_t length, std::uint32_t* panel) {
  const OfCodes<T> words_of{Fp8Table<T>(s.table16)};
  if (width == 1 && !s.preshuffled) {  // a panel of one row is the row itself
    const std::int64_t p = s.rows == nullptr ? p0 : std::int64_t{s.rows[p0]};
    return decode_codes(words_of.table, s.base + p * s.ld + k0, length, reinterpret_cast<std::uint16_t*>(panel));
  }
  pack_bytes_by_rows(s, words_of, p0, count, width, k0, length, panel);
}

// Whether rows of fp4 are whole bytes of K.
inline bool are_whole_bytes(const PackSource& s, std::int64_t k0, std::int64_t length) {
  return s.ld % 2 == 0 && k0 % 2 == 0 && length % 2 == 0;
}

inline void pack_nibbles(const PackSource& s, std::int64_t p0, std::int64_t count, int width, std::int64_t k0,
                         std::int64_t length, std::uint32_t* panel) {
  PackSource bytes = s;
  bytes.ld /= 2;
  pack_bytes_by_rows(bytes, OfNibbles{Fp4Table(s.pairs)}, p0, count, width, k0 / 2, length / 2, panel);
}

template <DType T>
void pack_codes_by_columns(const PackSource& source, std::int64_t p0, std::int64_t count, int width, std::int64_t k0,
                           std::int64_t length, std::uint32_t* panel) {
  constexpr std::int64_t kRowsAhead = 16;
  PackSource s = source;
  s.is_a = false;  // nothing is added to codes
  const Fp8Table<T> table(s.table16);
  for (std::int64_t k = 0; k < length; k += 4, panel += 2 * width) {
    const unsigned char* first = s.base + (k0 + k) * s.ld + p0;
    for (std::int64_t i = 0; i < 4; ++i)
      __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(first) +
                                                       static_cast<std::uintptr_t>((kRowsAhead + i) * s.ld)));
    alignas(64) std::uint32_t codes[kMaxWidth];
    join_bytes(s, first, least(4, length - k), count, width, codes);
    for (int c = 0; c < width; c += 16) {
      const auto live = static_cast<__mmask16>(width - c >= 16 ? 0xffff : (1 << (width - c)) - 1);
      __m512i words[2];
      table.words(_mm512_maskz_loadu_epi32(live, codes + c), words[0], words[1]);
      _mm512_mask_storeu_epi32(panel + c, live, words[0]);
      if (length - k > 2) _mm512_mask_storeu_epi32(panel + width + c, live, words[1]);
    }
  }
}

template <DType T>
void pack_codes(const PackSource& s, std::int64_t p0, std::int64_t count, int width, std::int64_t k0,
                std::int64_t length, std::uint32_t* panel) {
  const auto pack = s.k_contiguous ? &pack_codes_by_rows<T> : &pack_codes_by_columns<T>;
  pack(s, p0, count, width, k0, length, panel);
}
#endif

}  // namespace
}  // namespace host
}  // namespace v1
}  // namespace ckgen
