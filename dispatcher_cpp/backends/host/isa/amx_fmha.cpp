// Attention's products by AMX's tiles: those of packed tiles here, of four groups of rows at a time, so that a tile of
// K or V serves two of rows. All else of attention at that level is of the level below (gemm/blocking.cpp).
#define CKGEN_HOST_LEVEL 5
#include "backends/host/isa/amx_fmha_backward.hpp"
#include "backends/host/isa/amx_fmha_rows.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

// Rows of two groups are a tile's. Tiles 0 to 3 are sums, 4 and 6 of Q or weights, 5 and 7 of K or V.
constexpr int kGroupsOfTile = kTileRows / kFmhaRows;
constexpr int kGroups = 2 * kGroupsOfTile;
constexpr TileConfig kPacked = TileConfig().with(0, 7, kTileRows, 64);

constexpr std::int64_t kPanelBytes = kFmhaPanel * 4;        // a word of all columns or dimensions of a panel
constexpr std::int64_t kChunkBytes = kGrain * kPanelBytes;  // what two tiles hold

// Words that are not all there, zeros in their place: 0 * 0 is added, whatever lies beside.
struct Padded {
  alignas(64) unsigned char words[kChunkBytes];

  // Words [first, last) of the chunk that begins at `chunk`.
  void fill(const unsigned char* chunk, std::int64_t first, std::int64_t last) {
    for (std::int64_t w = 0; w < kGrain; ++w)
      for (int i = 0; i < kPanelVecs; ++i) {
        const std::int64_t at = w * kPanelBytes + i * 64;
        const bool is_there = w >= first && w < last;
        _mm512_store_si512(words + at, is_there ? _mm512_loadu_si512(chunk + at) : _mm512_setzero_si512());
      }
    keep_order();
  }
};

// A tile that is loaded waits for each of its lines: those of a later chunk come from the second-level cache while this
// one is multiplied, a quarter beside each product.
template <int QUARTER>
[[gnu::always_inline]] inline void bring_chunk(const unsigned char* chunk) {
  constexpr std::uintptr_t kAhead = 2 * kChunkBytes, kPart = kChunkBytes / 4;
  const auto first = reinterpret_cast<std::uintptr_t>(chunk) + kAhead + QUARTER * kPart;
#pragma GCC unroll 8
  for (std::uintptr_t i = 0; i < kPart; i += 64) __builtin_prefetch(reinterpret_cast<const void*>(first + i));
}

// Adds A's chunk times one of each panel. The sums of ROWS tiles of rows and PANELS panels are four tiles at most.
template <int ROWS, int PANELS>
[[gnu::always_inline]] inline void add_chunk(const unsigned char* a, std::int64_t row, const unsigned char* left,
                                             const unsigned char* right) {
  static_assert(ROWS * PANELS <= 2);
  _tile_loadd(5, left, kPanelBytes);
  _tile_loadd(4, a, row);
  bring_chunk<0>(left);
  _tile_dpbf16ps(0, 4, 5);
  _tile_loadd(7, left + 64, kPanelBytes);
  bring_chunk<1>(left);
  _tile_dpbf16ps(1, 4, 7);
  if constexpr (ROWS > 1) {
    _tile_loadd(6, a + kTileRows * row, row);
    bring_chunk<2>(left);
    _tile_dpbf16ps(2, 6, 5);
    bring_chunk<3>(left);
    _tile_dpbf16ps(3, 6, 7);
  }
  if constexpr (PANELS > 1) {
    _tile_loadd(5, right, kPanelBytes);
    _tile_dpbf16ps(2, 4, 5);
    _tile_loadd(7, right + 64, kPanelBytes);
    _tile_dpbf16ps(3, 4, 7);
  }
}

// In rows that are `row` bytes apart; panels lie side by side.
template <int ROWS, int PANELS>
[[gnu::always_inline]] inline void store_sums(float* sums, std::int64_t row) {
  auto* const at = reinterpret_cast<unsigned char*>(sums);
  _tile_stored(0, at, row);
  _tile_stored(1, at + 64, row);
  if constexpr (ROWS > 1) {
    _tile_stored(2, at + kTileRows * row, row);
    _tile_stored(3, at + kTileRows * row + 64, row);
  }
  if constexpr (PANELS > 1) {
    _tile_stored(2, at + 128, row);
    _tile_stored(3, at + 192, row);
  }
}

[[gnu::always_inline]] inline void zero_sums() {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
}

// What the groups see together.
struct Seen {
  std::int64_t first, last;
};
inline Seen seen_of(const FmhaStep* steps, int count) {
  Seen all{steps[0].first, steps[0].last};
  for (int i = 1; i < count; ++i) {
    all.first = least(all.first, steps[i].first);
    all.last = all.last > steps[i].last ? all.last : steps[i].last;
  }
  return all;
}

template <int ROWS, int PANELS>
void scores_of(const FmhaStep& s, std::int64_t panel) {
  const std::int64_t panel_bytes = s.words * kPanelBytes, whole = s.words / kGrain, rest = s.words % kGrain;
  const std::int64_t row = (whole + (rest > 0 ? 1 : 0)) * 64;
  const auto* q = static_cast<const unsigned char*>(s.q);
  const unsigned char* k = static_cast<const unsigned char*>(s.k) + panel * panel_bytes;
  zero_sums();
  for (std::int64_t i = 0; i < whole; ++i, q += 64, k += kChunkBytes)
    add_chunk<ROWS, PANELS>(q, row, k, k + panel_bytes);
  if (rest > 0) {
    Padded left, right;
    left.fill(k, 0, rest);
    if (PANELS > 1) right.fill(k + panel_bytes, 0, rest);
    add_chunk<ROWS, PANELS>(q, row, left.words, right.words);
  }
  store_sums<ROWS, PANELS>(s.scores + panel * kFmhaPanel, kFmhaStride * 4);
}

// Of one group a tile's other rows are what follows in the slot's memory, and nobody reads their sums.
void group_scores(const FmhaStep* steps, int count) {
  const Seen seen = seen_of(steps, count);
  const std::int64_t end = (seen.last + kFmhaPanel - 1) / kFmhaPanel;
  std::int64_t panel = seen.first / kFmhaPanel;
  keep_order();
  if (count > kGroupsOfTile)
    for (; panel < end; ++panel) scores_of<2, 1>(steps[0], panel);
  for (; panel + 2 <= end; panel += 2) scores_of<1, 2>(steps[0], panel);
  if (panel < end) scores_of<1, 1>(steps[0], panel);
  keep_order();
}

// out = out * rescale + the sums of a group's rows.
template <int PANELS>
void add_values(const FmhaStep& s, std::int64_t panel, const float (*sums)[PANELS * kFmhaPanel]) {
  for (int r = 0; r < s.rows; ++r) {
    const VecF factor = broadcast_f(s.rescale[r]);
    for (int i = 0; i < PANELS * kPanelVecs; ++i) {
      float* const out = s.out + ((panel + i / kPanelVecs) * kFmhaRows + r) * kFmhaPanel + i % kPanelVecs * kLanes;
      store_f(out, fma_f(load_f(out), factor, load_f(sums[r] + i * kLanes)));
    }
  }
}

template <int ROWS, int PANELS>
void values_of(const FmhaStep* steps, int count, const Seen& seen, std::int64_t panel) {
  alignas(64) float sums[ROWS * kTileRows][PANELS * kFmhaPanel];
  const FmhaStep& s = steps[0];
  const std::int64_t begin = seen.first / 2, end = (seen.last + 1) / 2, panel_bytes = s.v_words * kPanelBytes;
  const auto* p = static_cast<const unsigned char*>(s.weights);
  const unsigned char* v = static_cast<const unsigned char*>(s.v) + panel * panel_bytes;
  zero_sums();
  for (std::int64_t i = seen.first / kFmhaPanel; i * kGrain < end; ++i) {
    const unsigned char *left = v + i * kChunkBytes, *right = left + panel_bytes;
    const std::int64_t first = begin - i * kGrain, last = end - i * kGrain;
    Padded some_left, some_right;
    if (first > 0 || last < kGrain) {
      some_left.fill(left, first, last);
      if (PANELS > 1) some_right.fill(right, first, last);
      left = some_left.words, right = some_right.words;
    }
    add_chunk<ROWS, PANELS>(p + i * 64, kFmhaStride * 2, left, right);
  }
  store_sums<ROWS, PANELS>(sums[0], sizeof sums[0]);
  keep_order();
  for (int i = 0; i < count; ++i) add_values<PANELS>(steps[i], panel, sums + i * kFmhaRows);
}

// Weights of panels that only the other group sees.
void clear_weights(const FmhaStep& s, const Seen& seen) {
  const std::int64_t first = seen.first / kFmhaPanel, end = (seen.last + kFmhaPanel - 1) / kFmhaPanel;
  for (std::int64_t panel = first; panel < end; ++panel)
    if (panel < first_panel(s) || panel >= end_panel(s))
      for (int r = 0; r < s.rows; ++r)
        _mm512_storeu_si512(static_cast<std::uint16_t*>(s.weights) + r * kFmhaStride + panel * kFmhaPanel, zero_i());
}

void group_values(const FmhaStep* steps, int count) {
  const Seen seen = seen_of(steps, count);
  for (int i = 0; i < count; ++i) clear_weights(steps[i], seen);
  keep_order();
  const std::int64_t panels = steps[0].v_panels;
  std::int64_t panel = 0;
  if (count > kGroupsOfTile)
    for (; panel < panels; ++panel) values_of<2, 1>(steps, count, seen, panel);
  for (; panel + 2 <= panels; panel += 2) values_of<1, 2>(steps, count, seen, panel);
  if (panel < panels) values_of<1, 1>(steps, count, seen, panel);
}

void begin_packed() {
  static_assert(kGrain == kTileRows && kFmhaPanel == 2 * kGrain);
  _tile_loadconfig(&kPacked);
}

}  // namespace

constinit const AmxFmha kAmxFmha = {
    {kGroups, kGrain, kFmhaMostColumns, &group_scores, &group_values, {&begin_packed, &end_tiles}},
    tiles_of_rows<RowsOfBf16, kFmhaRowsBf16>(),
    tiles_of_rows<RowsOfFp8<DType::fp8_ocp>, kFmhaRowsFp8>(),
    tiles_of_rows<RowsOfFp8<DType::fp8_fnuz>, kFmhaRowsFnuz>(),
    &tile_product,
    {&begin_products, &end_tiles}};

}  // namespace host
}  // namespace v1
}  // namespace ckgen
