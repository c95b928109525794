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

// Of scores: tile 0 is sums of 16 columns, by columns; 1 is of K; 2 is of Q.
constexpr TileConfig kOfScores =
    TileConfig().with(0, 0, kTileRows, kFmhaRows * 4).with(1, 1, kTileRows, 64).with(2, 2, kTileRows, kFmhaRows * 4);
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

// A tile of 16 keys: where they are, or as words beside one another.
struct KeyTile {
  const unsigned char* keys;
  std::int64_t row_bytes, chunk_bytes;  // from key to key; from chunk to chunk
  std::int64_t steps;                   // of Coming that are left to do
};
using KeyWords = std::int32_t[kMostChunks][kTileRows][kGrain];

template <class Rows>
inline KeyTile key_tile(const FmhaStep& s, const Rows& rows, std::int64_t column, KeyWords& words,
                        Coming<kFmhaRows>& coming) {
  const unsigned char* const* at = s.k_rows.rows + column;
  if (Rows::kBytes == 2 && s.hdim_q % Rows::kElements == 0 && are_evenly_apart(at))
    return {at[0] + s.k_rows.offset, at[1] - at[0], 64, kTileRows};
  const int whole = s.hdim_q / Rows::kElements, live = s.hdim_q % Rows::kElements;
  constexpr int kVectors = Rows::kVectors, kChunkBytes = Rows::kElements * Rows::kBytes;
  for (int i = 0; i < kTileRows; ++i) {
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
  return {reinterpret_cast<const unsigned char*>(words), 64, sizeof words[0], 0};
}

// Scores of a tile of keys, by columns. All of a row at a time: rows a power of two apart share few sets of the
// first-level cache, and what two chunks share of a line would be read twice.
[[gnu::always_inline]] inline void multiply_keys(const KeyTile& k, const unsigned char* q, int chunks, float* out) {
  constexpr std::int64_t kOfQ = kTileRows * kFmhaRows * 4;
  keep_order();
  _tile_zero(0);
  for (int chunk = 0; chunk < chunks; ++chunk) {
    _tile_loadd(2, q + chunk * kOfQ, kFmhaRows * 4);
    _tile_loadd(1, k.keys + chunk * k.chunk_bytes, k.row_bytes);
    _tile_dpbf16ps(0, 1, 2);
  }
  _tile_stored(0, out, kFmhaRows * 4);
  keep_order();
}

// Q is [words][kFmhaRows]. A tile's words are made while the one before is multiplied, and a panel's sums are taken
// after those of the next are begun: tiles see what was stored only when it is in the cache.
template <class Rows>
void tile_scores(const FmhaStep& s) {
  const Rows rows(s);
  const int chunks = (s.hdim_q + Rows::kElements - 1) / Rows::kElements * Rows::kVectors;
  const std::int64_t first = first_panel(s) * kFmhaPanel, last = end_panel(s) * kFmhaPanel;
  const auto* const q = static_cast<const unsigned char*>(s.q);
  alignas(64) KeyWords words[2];
  alignas(64) PanelSums sums[2];
  Coming<kFmhaRows> coming(s.k_rows, last - first);
  use_tiles(kOfScores);
  KeyTile left = key_tile(s, rows, first, words[0], coming);
  int turn = 0;
  for (std::int64_t j = first; j < last; j += kFmhaPanel, turn ^= 1) {
    const KeyTile right = key_tile(s, rows, j + kTileRows, words[1], coming);
    multiply_keys(left, q, chunks, sums[turn][0]);
    coming.step(left.steps);
    if (j + kFmhaPanel < last) left = key_tile(s, rows, j + kFmhaPanel, words[0], coming);
    multiply_keys(right, q, chunks, sums[turn][kTileRows]);
    coming.step(right.steps);
    if (j > first) store_by_rows(sums[turn ^ 1], s.scores + j - kFmhaPanel);
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

// PANELS of them from `from` on, of whose dimensions `live` are there. What two panels share of a row's lines is read
// once.
template <int PANELS, class Rows>
inline void mix(const Rows& rows, const unsigned char* const* columns, std::int64_t from, int live, MixedWords words,
                MixedPanel (&out)[PANELS], Coming<kFmhaRows>& coming) {
  constexpr int kBytes = kFmhaPanel * Rows::kBytes;
  const auto store = [&out](int n, int w, const VecI(&v)[kPanelVecs]) {
    for (int i = 0; i < kPanelVecs; ++i) store_i(out[n][i][w], v[i]);
  };
  if (words.first == 0 && words.last == kGrain && live >= PANELS * kFmhaPanel) {
    for (int w = 0; w < kGrain; ++w) {
#pragma GCC unroll 2
      for (int n = 0; n < PANELS; ++n) {
        VecI v[kPanelVecs];
        rows.values(columns + 2 * w, from + n * kBytes, v);
        store(n, w, v);
      }
      coming.step(PANELS);
    }
    return;
  }
  for (int w = 0; w < kGrain; ++w)
    for (int n = 0; n < PANELS; ++n) {
      VecI v[kPanelVecs] = {};
      if (w >= words.first && w < words.last) rows.values(columns + 2 * w, from + n * kBytes, live - n * kFmhaPanel, v);
      store(n, w, v);
    }
  coming.step(kGrain * PANELS);
}

// Two panels from `panel` on, or the last one. Tiles of sums are kept: to store and load them for every 32 columns
// takes longer than to multiply them.
template <int PANELS, class Rows>
void tile_values_of(const FmhaStep& s, const Rows& rows, std::int64_t panel, Coming<kFmhaRows>& coming) {
  const std::int64_t begin = s.first / 2, end = (s.last + 1) / 2;
  const std::int64_t from = s.v_rows.offset + panel * kFmhaPanel * Rows::kBytes;
  const int live = s.hdim_v - static_cast<int>(panel) * kFmhaPanel;
  const auto* const p = static_cast<const unsigned char*>(s.weights);
  auto* const out = reinterpret_cast<unsigned char*>(s.out + panel * kFmhaRows * kFmhaPanel);
  constexpr std::int64_t kRow = kFmhaPanel * 4, kPanel = kFmhaRows * kRow;
  alignas(64) MixedPanel mixed[PANELS];
  _tile_loadd(4, out, kRow);
  _tile_loadd(5, out + 64, kRow);
  if constexpr (PANELS > 1) {
    _tile_loadd(6, out + kPanel, kRow);
    _tile_loadd(7, out + kPanel + 64, kRow);
  }
  const std::int64_t last = end_panel(s);
  for (std::int64_t i = first_panel(s); i < last; ++i) {
    const MixedWords words{begin > i * kGrain ? static_cast<int>(begin - i * kGrain) : 0,
                           static_cast<int>(least(end - i * kGrain, kGrain))};
    mix<PANELS>(rows, s.v_rows.rows + i * kFmhaPanel, from, live, words, mixed, coming);
    keep_order();
    _tile_loadd(2, p + i * 64, kFmhaStride * 2);
    _tile_loadd(0, mixed[0][0], 64);
    _tile_dpbf16ps(4, 2, 0);
    _tile_loadd(1, mixed[0][1], 64);
    _tile_dpbf16ps(5, 2, 1);
    if constexpr (PANELS > 1) {
      _tile_loadd(0, mixed[1][0], 64);
      _tile_dpbf16ps(6, 2, 0);
      _tile_loadd(1, mixed[1][1], 64);
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
  Coming<kFmhaRows> coming(s.v_rows, (end_panel(s) - first_panel(s)) * s.v_panels * kGrain);
  use_tiles(kOfValues);
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
          {&forget_tiles, &end_tiles}};
}

}  // namespace
}  // namespace host
}  // namespace v1
}  // namespace ckgen
