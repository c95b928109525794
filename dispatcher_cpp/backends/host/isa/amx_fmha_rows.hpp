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

// Tile 0 is sums of scores, by columns; 1 of Q; 2 of K or V; 3 of weights; 4 to 7 are sums of values.
constexpr TileConfig kInPlace =
    TileConfig().with(0, 1, kTileRows, kFmhaRows * 4).with(2, 2, kTileRows, 64).with(3, 7, kFmhaRows, 64);

void begin_rows() {
  _tile_loadconfig(&kInPlace);
}
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

// Scores of 16 columns, as rows.
inline void store_by_rows(const float (&sums)[kTileRows][kFmhaRows], float* out) {
#pragma GCC unroll 2
  for (int half = 0; half < 2; ++half) {
    __m256 v[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) v[i] = _mm256_load_ps(sums[half * 8 + i]);
    transpose8(v);
#pragma GCC unroll 8
    for (int i = 0; i < kFmhaRows; ++i) _mm256_storeu_ps(out + i * kFmhaStride + half * 8, v[i]);
  }
}

// Q is [words][kFmhaRows].
template <class Rows>
void tile_scores(const FmhaStep& s) {
  constexpr int kVectors = Rows::kVectors;
  constexpr std::int64_t kChunkBytes = Rows::kElements * Rows::kBytes, kOfQ = kTileRows * kFmhaRows * 4;
  const Rows rows(s);
  const int whole = s.hdim_q / Rows::kElements, live = s.hdim_q % Rows::kElements;
  const std::int64_t first = first_panel(s) * kFmhaPanel, last = end_panel(s) * kFmhaPanel;
  const auto* const q = static_cast<const unsigned char*>(s.q);
  alignas(64) std::int32_t copied[kVectors][kTileRows][kGrain];
  alignas(64) float sums[kTileRows][kFmhaRows];
  Coming<kFmhaRows> coming(s.k_rows, (last - first) / kTileRows);
  keep_order();
  for (std::int64_t j = first; j < last; j += kTileRows) {
    const unsigned char* const* at = s.k_rows.rows + j;
    const auto multiply_copied = [&](int chunk, auto load) {
#pragma GCC unroll 1
      for (int i = 0; i < kTileRows; ++i) {
        VecI k[kVectors];
        load(at[i] + s.k_rows.offset + chunk * kChunkBytes, k);
        for (int v = 0; v < kVectors; ++v) store_i(copied[v][i], k[v]);
      }
      keep_order();
      for (int v = 0; v < kVectors; ++v) {
        _tile_loadd(2, copied[v], 64);
        _tile_loadd(1, q + (chunk * kVectors + v) * kOfQ, kFmhaRows * 4);
        _tile_dpbf16ps(0, 2, 1);
      }
      keep_order();
    };
    _tile_zero(0);
    if (Rows::kBytes == 2 && are_evenly_apart(at)) {
      const unsigned char* k = at[0] + s.k_rows.offset;
      for (int chunk = 0; chunk < whole; ++chunk) {
        _tile_loadd(2, k + chunk * kChunkBytes, at[1] - at[0]);
        _tile_loadd(1, q + chunk * kOfQ, kFmhaRows * 4);
        _tile_dpbf16ps(0, 2, 1);
      }
    } else {
      for (int chunk = 0; chunk < whole; ++chunk)
        multiply_copied(chunk, [&](const unsigned char* p, auto& out) { rows.keys(p, out); });
    }
    if (live > 0) multiply_copied(whole, [&](const unsigned char* p, auto& out) { rows.keys(p, live, out); });
    _tile_stored(0, sums, kFmhaRows * 4);
    keep_order();
    coming.step();
    store_by_rows(sums, s.scores + j);
  }
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

// WHOLE: all dimensions of the panel are there.
template <bool WHOLE, class Rows>
inline void mix(const Rows& rows, const unsigned char* const* columns, std::int64_t from, int live, int first, int last,
                MixedPanel& out) {
  for (int w = 0; w < kGrain; ++w) {
    VecI v[kPanelVecs] = {};
    if (w >= first && w < last) {
      if (WHOLE)
        rows.values(columns + 2 * w, from, v);
      else
        rows.values(columns + 2 * w, from, live, v);
    }
    for (int i = 0; i < kPanelVecs; ++i) store_i(out[i][w], v[i]);
  }
}

// Two panels from `panel` on, or the last one.
template <int PANELS, class Rows>
void tile_values_of(const FmhaStep& s, const Rows& rows, std::int64_t panel, Coming<kFmhaRows>& coming) {
  const std::int64_t begin = s.first / 2, end = (s.last + 1) / 2;
  const std::int64_t from = s.v_rows.offset + panel * kFmhaPanel * Rows::kBytes;
  const int live = s.hdim_v - static_cast<int>(panel + PANELS - 1) * kFmhaPanel;  // of the last one
  const auto* const p = static_cast<const unsigned char*>(s.weights);
  auto* const out = reinterpret_cast<unsigned char*>(s.out + panel * kFmhaRows * kFmhaPanel);
  constexpr std::int64_t kRow = kFmhaPanel * 4, kPanel = kFmhaRows * kRow;
  alignas(64) MixedPanel left, right;
  _tile_loadd(4, out, kRow);
  _tile_loadd(5, out + 64, kRow);
  if constexpr (PANELS > 1) {
    _tile_loadd(6, out + kPanel, kRow);
    _tile_loadd(7, out + kPanel + 64, kRow);
  }
  for (std::int64_t i = first_panel(s); i < end_panel(s); ++i) {
    const unsigned char* const* columns = s.v_rows.rows + i * kFmhaPanel;
    const int first = begin > i * kGrain ? static_cast<int>(begin - i * kGrain) : 0;
    const int last = static_cast<int>(least(end - i * kGrain, kGrain));
    if (PANELS > 1) mix<true>(rows, columns, from, 0, first, last, left);
    MixedPanel& of_last = PANELS > 1 ? right : left;
    const std::int64_t from_last = from + (PANELS - 1) * kFmhaPanel * Rows::kBytes;
    if (live >= kFmhaPanel)
      mix<true>(rows, columns, from_last, 0, first, last, of_last);
    else
      mix<false>(rows, columns, from_last, live, first, last, of_last);
    keep_order();
    _tile_loadd(3, p + i * 64, kFmhaStride * 2);
    _tile_loadd(2, left[0], 64);
    _tile_dpbf16ps(4, 3, 2);
    _tile_loadd(2, left[1], 64);
    _tile_dpbf16ps(5, 3, 2);
    if constexpr (PANELS > 1) {
      _tile_loadd(2, right[0], 64);
      _tile_dpbf16ps(6, 3, 2);
      _tile_loadd(2, right[1], 64);
      _tile_dpbf16ps(7, 3, 2);
    }
    keep_order();
    coming.step(PANELS);
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
  Coming<kFmhaRows> coming(s.v_rows, (end_panel(s) - first_panel(s)) * s.v_panels);
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
          {&begin_rows, &end_tiles}};
}

}  // namespace
}  // namespace host
}  // namespace v1
}  // namespace ckgen
