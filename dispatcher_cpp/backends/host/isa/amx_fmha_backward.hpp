// Products of attention's backward by AMX's tiles: 32 rows by a panel at a time. Included by isa/amx_fmha.cpp only.
#pragma once

#include "backends/host/fmha/backward_step.hpp"
#include "backends/host/isa/amx_tiles.hpp"
#include "backends/host/isa/coming_rows.hpp"
#include "backends/host/isa/fmha.hpp"
#include "backends/host/isa/table.hpp"
#include "backends/host/isa/transpose.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

// Tiles 0 to 3 are sums, 4 and 5 of A, 6 and 7 of B.
constexpr TileConfig kProducts = TileConfig().with(0, 7, kTileRows, 64);
constexpr int kProductRows = 2 * kTileRows;
constexpr std::int64_t kMostChunks = 8;  // of 16 words: 256 head dimensions, or as many columns of a tile

void begin_products() {
  _tile_loadconfig(&kProducts);
}

// kProductRows rows of A as tiles, zeros in place of what is missing.
struct RowTiles {
  alignas(64) std::int32_t words[kMostChunks][2][kTileRows][kGrain];

  void fill(const FmhaProduct& x, std::int64_t row) {
    for (std::int64_t w = 0, chunk = 0; w < x.words; w += kGrain, ++chunk)
      for (int half = 0; half < 2; ++half) fill(x, row + half * kTileRows, w, words[chunk][half]);
    keep_order();
  }

 private:
  static __mmask16 first(std::int64_t count) {
    return static_cast<__mmask16>(count >= 16 ? 0xffffU : count <= 0 ? 0U : (1U << count) - 1U);
  }
  static void fill(const FmhaProduct& x, std::int64_t row, std::int64_t word, std::int32_t (&out)[kTileRows][kGrain]) {
    const bool by_rows = x.a_row != 1;
    const std::int64_t lines = by_rows ? x.rows - row : x.words - word, step = by_rows ? x.a_row : x.a_word;
    const __mmask16 some = first(by_rows ? x.words - word : x.rows - row);
    const auto* from = static_cast<const std::int32_t*>(x.a) + row * x.a_row + word * x.a_word;
    __m512i v[kTileRows];
#pragma GCC unroll 16
    for (int i = 0; i < kTileRows; ++i)
      v[i] = _mm512_maskz_loadu_epi32(i < lines ? some : __mmask16{0}, i < lines ? from + i * step : from);
    if (!by_rows) transpose16(v);
#pragma GCC unroll 16
    for (int i = 0; i < kTileRows; ++i) _mm512_store_si512(out[i], v[i]);
  }
};

// 16 words of a panel of B, of which the first `live` are there.
struct PaddedPanel {
  alignas(64) std::int32_t words[kGrain][kFmhaPanel];

  void fill(const std::int32_t* from, std::int64_t word, std::int64_t live) {
    for (int w = 0; w < kGrain; ++w)
      for (int i = 0; i < kPanelVecs; ++i)
        store_i(words[w] + i * kLanes, w < live ? load_i(from + w * word + i * kLanes) : zero_i());
    keep_order();
  }
};

// Adds A times a panel of B to sums that are `row` bytes apart.
template <int TILES>
inline void multiply_panel(const FmhaProduct& x, const RowTiles& a, std::int64_t panel, bool adds, float* sums,
                           std::int64_t row) {
  auto* const c = reinterpret_cast<unsigned char*>(sums);
  if (adds) {
    _tile_loadd(0, c, row);
    _tile_loadd(1, c + 64, row);
    if constexpr (TILES > 1) {
      _tile_loadd(2, c + kTileRows * row, row);
      _tile_loadd(3, c + kTileRows * row + 64, row);
    }
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  const auto* b = static_cast<const std::int32_t*>(x.b) + panel * x.b_panel;
  PaddedPanel rest;
  for (std::int64_t w = 0, chunk = 0; w < x.words; w += kGrain, ++chunk, b += kGrain * x.b_word) {
    const unsigned char* at = reinterpret_cast<const unsigned char*>(b);
    std::int64_t step = x.b_word * 4;
    if (x.words - w < kGrain) {
      rest.fill(b, x.b_word, x.words - w);
      at = reinterpret_cast<const unsigned char*>(rest.words);
      step = kFmhaPanel * 4;
    }
    _tile_loadd(4, a.words[chunk][0], 64);
    _tile_loadd(6, at, step);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(7, at + 64, step);
    _tile_dpbf16ps(1, 4, 7);
    if constexpr (TILES > 1) {
      _tile_loadd(5, a.words[chunk][1], 64);
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    }
  }
  _tile_stored(0, c, row);
  _tile_stored(1, c + 64, row);
  if constexpr (TILES > 1) {
    _tile_stored(2, c + kTileRows * row, row);
    _tile_stored(3, c + kTileRows * row + 64, row);
  }
  keep_order();
}

// The same of `live` rows, through memory of whole tiles.
template <int TILES>
inline void multiply_some(const FmhaProduct& x, const RowTiles& a, std::int64_t panel, std::int64_t live, float* out) {
  alignas(64) float sums[TILES * kTileRows][kFmhaPanel];
  const auto copy = [live](const float* from, std::int64_t from_row, float* to, std::int64_t to_row) {
    for (std::int64_t r = 0; r < live; ++r)
      for (int i = 0; i < kFmhaPanel; i += kLanes) store_f(to + r * to_row + i, load_f(from + r * from_row + i));
  };
  if (x.adds) copy(out, x.ld, sums[0], kFmhaPanel);
  keep_order();
  multiply_panel<TILES>(x, a, panel, x.adds, sums[0], kFmhaPanel * 4);
  copy(sums[0], kFmhaPanel, out, x.ld);
}

void tile_product(const FmhaProduct& x) {
  RowTiles a;
  ComingRows coming(x.coming, x.panels * ((x.rows + kProductRows - 1) / kProductRows));
  for (std::int64_t row = 0; row < x.rows; row += kProductRows) {
    const std::int64_t live = x.rows - row;
    a.fill(x, row);
    for (std::int64_t panel = 0; panel < x.panels; ++panel) {
      float* const out = x.out + row * x.ld + panel * kFmhaPanel;
      coming.step();
      if (live >= kProductRows)
        multiply_panel<2>(x, a, panel, x.adds, out, x.ld * 4);
      else if (live > kTileRows)
        multiply_some<2>(x, a, panel, live, out);
      else
        multiply_some<1>(x, a, panel, live, out);
    }
  }
}

}  // namespace
}  // namespace host
}  // namespace v1
}  // namespace ckgen
