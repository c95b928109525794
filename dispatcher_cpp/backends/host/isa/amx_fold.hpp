// Scales of mx put into packed values of bf16. Included by isa/amx.cpp only.
#pragma once

#include "backends/host/isa/amx_tiles.hpp"
#include "backends/host/isa/table.hpp"

#include <immintrin.h>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

// An exponent of e8m0 as what is added to both bf16 of a word.
inline std::uint32_t both_exponents(unsigned code) {
  constexpr unsigned kBias = 127, kMantissaBits = 7;
  const std::uint32_t one = static_cast<std::uint16_t>((code - kBias) << kMantissaBits);
  return one << 16 | one;
}

// Values times powers of two that leave them normal; zeros, infinities and NaNs stay as they are.
[[gnu::always_inline]] inline void fold_line(unsigned char* line, __m512i exponents) {
  const __m512i v = _mm512_loadu_si512(line), magnitude = _mm512_and_si512(v, _mm512_set1_epi16(0x7fff));
  const __mmask32 is_normal =
      _mm512_cmplt_epu16_mask(_mm512_sub_epi16(magnitude, _mm512_set1_epi16(1)), _mm512_set1_epi16(0x7f7f));
  _mm512_storeu_si512(line, _mm512_mask_add_epi16(v, is_normal, v, exponents));
}

void fold_rows(const FoldCall& call) {
  auto* line = static_cast<unsigned char*>(call.panel);
  for (std::int64_t g = 0; g < call.groups; ++g)
    for (std::int64_t r = 0; r < call.width; ++r, line += 64) {
      if (r >= call.count) continue;
      fold_line(line, _mm512_set1_epi32(static_cast<int>(both_exponents(call.codes[r * call.next_row + g]))));
    }
}

void fold_columns(const FoldCall& call) {
  constexpr std::int64_t kWordsOfGroup = 16;
  auto* line = static_cast<unsigned char*>(call.panel);
  alignas(64) std::uint32_t exponents[kPanelColumns] = {};
  for (std::int64_t g = 0; g < call.groups; ++g) {
    for (std::int64_t c = 0; c < call.count; ++c) exponents[c] = both_exponents(call.codes[c * call.next_row + g]);
    const __m512i of_columns = _mm512_load_si512(exponents);
    const std::int64_t left = call.words - g * kWordsOfGroup, words = left < kWordsOfGroup ? left : kWordsOfGroup;
    for (std::int64_t w = 0; w < words; ++w, line += 64) fold_line(line, of_columns);
  }
}

}  // namespace
}  // namespace host
}  // namespace v1
}  // namespace ckgen
