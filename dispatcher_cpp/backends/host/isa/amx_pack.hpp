// Panels of A for tiles: rows of whole grains, as they lie in memory or decoded. Included by isa/amx.cpp only.
#pragma once

#include "backends/host/isa/amx_tiles.hpp"
#include "backends/host/isa/code_tables.hpp"
#include "backends/host/isa/table.hpp"
#include "backends/host/isa/transpose.hpp"

#include <immintrin.h>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

bool is_by_rows(const PackSource& s) {
  return s.k_contiguous && !s.preshuffled && !s.prepacked && s.op == OperandOp::none;
}

// Rows [p0, p0 + count) x k [k0, k0 + length) as [words / kGrain][width][kGrain], where the words lie so in memory.
void copy_rows(const PackSource& s, std::int64_t p0, std::int64_t count, int width, std::int64_t k0,
               std::int64_t length, unsigned char* panel) {
  const std::int64_t size = 4 / elements_per_word(s.kind), bytes = length * size;
  for (std::int64_t r = 0; r < width; ++r) {
    const unsigned char* row = nullptr;
    if (r < count) row = s.base + ((s.rows == nullptr ? p0 + r : std::int64_t{s.rows[p0 + r]}) * s.ld + k0) * size;
    unsigned char* to = panel + r * 64;
    for (std::int64_t done = 0; done < bytes; done += 64, to += width * 64) {
      const std::int64_t left = row == nullptr ? 0 : bytes - done;
      const __mmask64 take = left >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << left) - 1;
      _mm512_storeu_si512(to, _mm512_maskz_loadu_epi8(take, row == nullptr ? panel : row + done));
    }
  }
}

// The same of 8-bit floats.
template <DType T>
void decode_rows(const PackSource& s, std::int64_t p0, std::int64_t count, int width, std::int64_t k0,
                 std::int64_t length, unsigned char* panel) {
  const Fp8Table<T> table(s.table16);
  for (std::int64_t r = 0; r < width; ++r) {
    const unsigned char* row = nullptr;
    if (r < count) row = s.base + (s.rows == nullptr ? p0 + r : std::int64_t{s.rows[p0 + r]}) * s.ld + k0;
    unsigned char* to = panel + r * 64;
    for (std::int64_t done = 0; done < length; done += 64, to += 2 * width * 64) {
      const std::int64_t left = row == nullptr ? 0 : length - done;
      const __mmask64 take = left >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << left) - 1;
      __m512i first, last;
      table.run(_mm512_maskz_loadu_epi8(take, row == nullptr ? panel : row + done), first, last);
      _mm512_storeu_si512(to, first);
      if (length - done > 32) _mm512_storeu_si512(to + width * 64, last);
    }
  }
}

// The same of fp4, in whole bytes.
void decode_nibbles(const PackSource& s, std::int64_t p0, std::int64_t count, int width, std::int64_t k0,
                    std::int64_t length, unsigned char* panel) {
  const Fp4Table table(s.pairs);
  for (std::int64_t r = 0; r < width; ++r) {
    const unsigned char* row = nullptr;
    if (r < count) row = s.base + ((s.rows == nullptr ? p0 + r : std::int64_t{s.rows[p0 + r]}) * s.ld + k0) / 2;
    unsigned char* to = panel + r * 64;
    for (std::int64_t done = 0; done < length / 2; done += 16, to += width * 64) {
      const std::int64_t left = row == nullptr ? 0 : length / 2 - done;
      const auto take = static_cast<__mmask16>(left >= 16 ? 0xffff : (1 << left) - 1);
      const __m128i codes = _mm_maskz_loadu_epi8(take, row == nullptr ? panel : row + done);
      _mm512_storeu_si512(to, table.words(_mm512_cvtepu8_epi32(codes)));
    }
  }
}

void pack_tiles(const PackSource& source, std::int64_t p0, std::int64_t count, int width, std::int64_t k0,
                std::int64_t length, void* panel) {
  PackSource s = source;
  s.is_a = false;  // the instruction takes signed bytes on both sides
  auto* out = static_cast<unsigned char*>(panel);
  if (is_by_rows(s)) {
    if (s.type == (s.kind == PackKind::i8 ? DType::int8 : DType::bf16))
      return copy_rows(s, p0, count, width, k0, length, out);
    if (s.type == DType::fp8_ocp || s.type == DType::bf8_ocp)
      return decode_rows<DType::fp8_ocp>(s, p0, count, width, k0, length, out);
    if (s.type == DType::fp8_fnuz || s.type == DType::bf8_fnuz)
      return decode_rows<DType::fp8_fnuz>(s, p0, count, width, k0, length, out);
    if (s.type == DType::fp4 && s.ld % 2 == 0 && k0 % 2 == 0 && length % 2 == 0)
      return decode_nibbles(s, p0, count, width, k0, length, out);
  }
  const std::int64_t step = std::int64_t{kGrain} * elements_per_word(s.kind);
  for (std::int64_t k = 0; k < length; k += step)
    for (int r = 0; r < width; r += kTileRows, out += kTileBytes) {
      __m512i words[kTileRows] = {};
      const std::int64_t here = count - r;
      if (here > 0)
        kIsaV4Bf16.pack(s, p0 + r, here < kTileRows ? here : kTileRows, kTileRows, k0 + k,
                        length - k < step ? length - k : step, words);
      transpose16(words);
      for (int i = 0; i < kTileRows; ++i) _mm512_storeu_si512(out + i * 64, words[i]);
    }
}

}  // namespace
}  // namespace host
}  // namespace v1
}  // namespace ckgen
