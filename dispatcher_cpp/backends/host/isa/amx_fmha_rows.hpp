// Rows of K and V where they are, by AMX's tiles: 16 rows of K are a tile as they lie in memory, so scores come out as
// columns by rows; pairs of rows of V are mixed first. Included by isa/amx_fmha.cpp only.
#pragma once

#include "backends/host/isa/amx_tiles.hpp"
#include "backends/host/isa/encode.hpp"
#include "backends/host/isa/fmha_scores.hpp"
#include "backends/host/isa/table.hpp"
#include "backends/host/isa/transpose.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

// Of scores: tiles 0 and 1 are sums of 16 columns each, by columns; 2 and 3 are of K; 4 is of Q.
constexpr TileConfig kOfScores =
    TileConfig().with(0, 1, kTileRows, kFmhaRows * 4).with(2, 3, kTileRows, 64).with(4, 4, kTileRows, kFmhaRows * 4);
// Of values: tiles 0 and 1 are of V; 2 is of weights; 4 to 7 are sums.
constexpr TileConfig kOfValues = TileConfig().with(0, 1, kTileRows, 64).with(2, 7, kFmhaRows, 64);

void end_tiles() {
  _tile_release();
}

// ---- scores ---------------------------------------------------------------------------------------------------------

// Whether 16 rows are as far apart, each from the next.
inline bool are_evenly_apart(const unsigned char* const* rows) {
  const std::ptrdiff_t step = rows[1] - rows[0];
  std::ptrdiff_t other = 0;
  for (int i = 2; i < kTileRows; ++i) other |= (rows[i] - rows[i - 1]) ^ step;
  return other == 0;
}

// Sums of a panel, by columns.
using PanelSums = float[2 * kTileRows][kFmhaRows];

inline void store_by_rows(const PanelSums& sums, float* out) {
#pragma GCC unroll 4
  for (int part = 0; part < 4; ++part) {
    __m256 v[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) v[i] = _mm256_load_ps(sums[part * 8 + i]);
    transpose8(v);
#pragma GCC unroll 8
    for (int i = 0; i < kFmhaRows; ++i) _mm256_storeu_ps(out + i * kFmhaStride + part * 8, v[i]);
  }
}

// A panel of keys as tiles: where they are, or as words beside one another.
struct KeyTiles {
  const unsigned char *left, *right;   // 16 keys each
  std::int64_t row_bytes, word_bytes;  // from key to key; from tile to tile
  std::int64_t steps;                  // of Coming that are left to do
};
using KeyWords = std::int32_t[kMostChunks][2 * kTileRows][kGrain];

template <class Rows>
inline KeyTiles key_tiles(const FmhaStep& s, const Rows& rows, std::int64_t column, KeyWords& words,
                          Coming<kFmhaRows>& coming) {
  const unsigned char* const* at = s.k_rows.rows + column;
  if (Rows::kBytes == 2 && s.hdim_q % Rows::kElements == 0 && are_evenly_apart(at) &&
      are_evenly_apart(at + kTileRows) && at[1] - at[0] == at[kTileRows + 1] - at[kTileRows])
    return {at[0] + s.k_rows.offset, at[kTileRows] + s.k_rows.offset, at[1] - at[0], 64, kFmhaPanel};
  const int whole = s.hdim_q / Rows::kElements, live = s.hdim_q % Rows::kElements;
  constexpr int kVectors = Rows::kVectors, kChunkBytes = Rows::kElements * Rows::kBytes;
  for (int i = 0; i < 2 * kTileRows; ++i) {
    const unsigned char* const p = at[i] + s.k_rows.offset;
    VecI k[kVectors];
    for (int chunk = 0; chunk < whole; ++chunk) {
      rows.keys(p + chunk * kChunkBytes, k);
      for (int v = 0; v < kVectors; ++v) store_i(words[chunk * kVectors + v][i], k[v]);
    }
    if (live > 0) {
      rows.keys(p + whole * kChunkBytes, live, k);
      for (int v = 0; v < kVectors; ++v) store_i(words[whole * kVectors + v][i], k[v]);
    }
    coming.step();
  }
  const auto* const first = reinterpret_cast<const unsigned char*>(words);
  return {first, first + kTileBytes, 64, sizeof words[0], 0};
}

// Q is [words][kFmhaRows]. A panel's words are made while the one before is multiplied, and its sums are taken after
// those of the next are begun: tiles see what was stored only when it is in the cache.
template <class Rows>
void tile_scores(const FmhaStep& s) {
  constexpr std::int64_t kOfQ = kTileRows * kFmhaRows * 4;
  const Rows rows(s);
  const int chunks = (s.hdim_q + Rows::kElements - 1) / Rows::kElements * Rows::kVectors;
  const std::int64_t first = first_panel(s) * kFmhaPanel, last = end_panel(s) * kFmhaPanel;
  const auto* const q = static_cast<const unsigned char*>(s.q);
  alignas(64) KeyWords words[2];
  alignas(64) PanelSums sums[2];
  Coming<kFmhaRows> coming(s.k_rows, last - first);
  _tile_loadconfig(&kOfScores);
  KeyTiles k = key_tiles(s, rows, first, words[0], coming);
  int turn = 0;
  for (std::int64_t j = first; j < last; j += kFmhaPanel, turn ^= 1) {
    const KeyTiles now = k;
    if (j + kFmhaPanel < last) k = key_tiles(s, rows, j + kFmhaPanel, words[turn ^ 1], coming);
    keep_order();
    _tile_zero(0);
    _tile_zero(1);
    for (int chunk = 0; chunk < chunks; ++chunk) {
      _tile_loadd(4, q + chunk * kOfQ, kFmhaRows * 4);
      _tile_loadd(2, now.left + chunk * now.word_bytes, now.row_bytes);
      _tile_dpbf16ps(0, 2, 4);
      _tile_loadd(3, now.right + chunk * now.word_bytes, now.row_bytes);
      _tile_dpbf16ps(1, 3, 4);
      coming.step(now.steps / chunks);
    }
    coming.step(now.steps % chunks);
    if (j > first) store_by_rows(sums[turn ^ 1], s.scores + j - kFmhaPanel);
    keep_order();
    _tile_stored(0, sums[turn][0], kFmhaRows * 4);
    _tile_stored(1, sums[turn][kTileRows], kFmhaRows * 4);
    keep_order();
  }
  store_by_rows(sums[turn ^ 1], s.scores + last - kFmhaPanel);
}

// ---- values ---------------------------------------------------------------------------------------------------------

// Sums of earlier columns times what they are worth now.
inline void rescale_sums(const FmhaStep& s) {
  for (int r = 0; r < s.rows && s.rescale != nullptr; ++r) {
    if (s.rescale[r] == 1.0F) continue;
    const VecF factor = broadcast_f(s.rescale[r]);
    for (int p = 0; p < s.v_panels; ++p) {
      float* const at = s.out + (p * kFmhaRows + r) * kFmhaPanel;
      for (int i = 0; i < kPanelVecs; ++i) store_f(at + i * kLanes, mul_f(load_f(at + i * kLanes), factor));
    }
  }
  keep_order();
}

// A panel of dimensions of 32 columns as two tiles; columns of no word of [first, last) are zeros.
using MixedPanel = std::int32_t[kPanelVecs][kTileRows][kGrain];

// Of a panel's columns, the words that are seen.
struct MixedWords {
  int first, last;
};

// `live` of the panel's dimensions are there.
template <class Rows>
inline void mix(const Rows& rows, const unsigned char* const* columns, std::int64_t from, int live, MixedWords words,
                MixedPanel& out, Coming<kFmhaRows>& coming) {
  const auto store = [&out](int w, const VecI(&v)[kPanelVecs]) {
    for (int i = 0; i < kPanelVecs; ++i) store_i(out[i][w], v[i]);
  };
  if (words.first == 0 && words.last == kGrain && live >= kFmhaPanel) {
#pragma GCC unroll 4
    for (int w = 0; w < kGrain; ++w) {
      VecI v[kPanelVecs];
      rows.values(columns + 2 * w, from, v);
      store(w, v);
      if (w % 2 == 1) coming.step();
    }
    return;
  }
  for (int w = 0; w < kGrain; ++w) {
    VecI v[kPanelVecs] = {};
    if (w >= words.first && w < words.last) rows.values(columns + 2 * w, from, live, v);
    store(w, v);
  }
  coming.step(kGrain / 2);
}

// Two panels from `panel` on, or the last one. What the next tiles are is mixed before those of now are multiplied:
// tiles see what was stored only when it is in the cache.
template <int PANELS, class Rows>
void tile_values_of(const FmhaStep& s, const Rows& rows, std::int64_t panel, Coming<kFmhaRows>& coming) {
  const std::int64_t begin = s.first / 2, end = (s.last + 1) / 2;
  const std::int64_t from = s.v_rows.offset + panel * kFmhaPanel * Rows::kBytes;
  const int live = s.hdim_v - static_cast<int>(panel) * kFmhaPanel;
  const auto* const p = static_cast<const unsigned char*>(s.weights);
  auto* const out = reinterpret_cast<unsigned char*>(s.out + panel * kFmhaRows * kFmhaPanel);
  constexpr std::int64_t kRow = kFmhaPanel * 4, kPanel = kFmhaRows * kRow;
  alignas(64) MixedPanel mixed[2][PANELS];
  const auto mix_panels = [&](std::int64_t i, MixedPanel(&to)[PANELS]) {
    const MixedWords words{begin > i * kGrain ? static_cast<int>(begin - i * kGrain) : 0,
                           static_cast<int>(least(end - i * kGrain, kGrain))};
    for (int n = 0; n < PANELS; ++n)
      mix(rows, s.v_rows.rows + i * kFmhaPanel, from + n * kFmhaPanel * Rows::kBytes, live - n * kFmhaPanel, words,
          to[n], coming);
  };
  _tile_loadd(4, out, kRow);
  _tile_loadd(5, out + 64, kRow);
  if constexpr (PANELS > 1) {
    _tile_loadd(6, out + kPanel, kRow);
    _tile_loadd(7, out + kPanel + 64, kRow);
  }
  const std::int64_t last = end_panel(s);
  int turn = 0;
  mix_panels(first_panel(s), mixed[0]);
  for (std::int64_t i = first_panel(s); i < last; ++i, turn ^= 1) {
    if (i + 1 < last) mix_panels(i + 1, mixed[turn ^ 1]);
    const MixedPanel(&now)[PANELS] = mixed[turn];
    keep_order();
    _tile_loadd(2, p + i * 64, kFmhaStride * 2);
    _tile_loadd(0, now[0][0], 64);
    _tile_dpbf16ps(4, 2, 0);
    _tile_loadd(1, now[0][1], 64);
    _tile_dpbf16ps(5, 2, 1);
    if constexpr (PANELS > 1) {
      _tile_loadd(0, now[1][0], 64);
      _tile_dpbf16ps(6, 2, 0);
      _tile_loadd(1, now[1][1], 64);
      _tile_dpbf16ps(7, 2, 1);
    }
    keep_order();
  }
  _tile_stored(4, out, kRow);
  _tile_stored(5, out + 64, kRow);
  if constexpr (PANELS > 1) {
    _tile_stored(6, out + kPanel, kRow);
    _tile_stored(7, out + kPanel + 64, kRow);
  }
}

template <class Rows>
void tile_values(const FmhaStep& s) {
  const Rows rows(s);
  rescale_sums(s);
  Coming<kFmhaRows> coming(s.v_rows, (end_panel(s) - first_panel(s)) * s.v_panels * kGrain / 2);
  _tile_loadconfig(&kOfValues);
  std::int64_t panel = 0;
  for (; panel + 2 <= s.v_panels; panel += 2) tile_values_of<2>(s, rows, panel, coming);
  if (panel < s.v_panels) tile_values_of<1>(s, rows, panel, coming);
  keep_order();
}

// ---- for the table --------------------------------------------------------------------------------------------------

// Of more rows tiles are faster than dot products.
constexpr int kMostDots = 2;

template <class Rows, FmhaRowType TYPE>
constexpr FmhaRowKernels tiles_of_rows() {
  constexpr int kKind = static_cast<int>(PackKind::bf16);
  return {[](const FmhaStep& s) {
            s.rows > kMostDots ? tile_scores<Rows>(s) : kIsaV4Bf16.fmha[kKind]->rows[TYPE].scores(s);
          },
          [](const FmhaStep& s) {
            s.rows > kMostDots ? tile_values<Rows>(s) : kIsaV4Bf16.fmha[kKind]->rows[TYPE].values(s);
          },
          kMostDots,
          1,
          {nullptr, &end_tiles}};
}

}  // namespace
}  // namespace host
}  // namespace v1
}  // namespace ckgen
