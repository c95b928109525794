// Attention's products by AMX's tiles: groups of kFmhaRows rows, which take half as long as whole tiles. All else of
// attention at that level is of the level below (gemm/blocking.cpp).
#define CKGEN_HOST_LEVEL 5
#include "backends/host/isa/amx_fmha_backward.hpp"
#include "backends/host/isa/amx_fmha_rows.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

// Tiles 0 to 3 are sums, 4 of Q or weights, 5 of K or V.
constexpr TileConfig kPacked = TileConfig().with(0, 4, kFmhaRows, 64).with(5, 5, kTileRows, 64);

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

// Adds A's chunk times one of the first panel, and of the second where PANELS is 2.
template <int PANELS>
[[gnu::always_inline]] inline void add_chunk(const unsigned char* a, std::int64_t a_row, const unsigned char* left,
                                             const unsigned char* right) {
  _tile_loadd(4, a, a_row);
  _tile_loadd(5, left, kPanelBytes);
  _tile_dpbf16ps(0, 4, 5);
  _tile_loadd(5, left + 64, kPanelBytes);
  _tile_dpbf16ps(1, 4, 5);
  if constexpr (PANELS > 1) {
    _tile_loadd(5, right, kPanelBytes);
    _tile_dpbf16ps(2, 4, 5);
    _tile_loadd(5, right + 64, kPanelBytes);
    _tile_dpbf16ps(3, 4, 5);
  }
}

// Sums of panels that are `panel` bytes apart, in rows that are `row` bytes apart.
template <int PANELS>
[[gnu::always_inline]] inline void load_sums(const float* sums, std::int64_t panel, std::int64_t row) {
  const auto* at = reinterpret_cast<const unsigned char*>(sums);
  _tile_loadd(0, at, row);
  _tile_loadd(1, at + 64, row);
  if constexpr (PANELS > 1) {
    _tile_loadd(2, at + panel, row);
    _tile_loadd(3, at + panel + 64, row);
  }
}
template <int PANELS>
[[gnu::always_inline]] inline void store_sums(float* sums, std::int64_t panel, std::int64_t row) {
  auto* at = reinterpret_cast<unsigned char*>(sums);
  _tile_stored(0, at, row);
  _tile_stored(1, at + 64, row);
  if constexpr (PANELS > 1) {
    _tile_stored(2, at + panel, row);
    _tile_stored(3, at + panel + 64, row);
  }
}

template <int PANELS>
void scores_of(const FmhaStep& s, std::int64_t panel) {
  constexpr std::int64_t kOfQ = kFmhaRows * 64;
  const std::int64_t panel_bytes = s.words * kPanelBytes, whole = s.words / kGrain, rest = s.words % kGrain;
  const auto* q = static_cast<const unsigned char*>(s.q);
  const unsigned char* k = static_cast<const unsigned char*>(s.k) + panel * panel_bytes;
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (std::int64_t i = 0; i < whole; ++i, q += kOfQ, k += kChunkBytes) add_chunk<PANELS>(q, 64, k, k + panel_bytes);
  if (rest > 0) {
    Padded left, right;
    left.fill(k, 0, rest);
    if (PANELS > 1) right.fill(k + panel_bytes, 0, rest);
    add_chunk<PANELS>(q, 64, left.words, right.words);
  }
  store_sums<PANELS>(s.scores + panel * kFmhaPanel, kFmhaPanel * 4, kFmhaStride * 4);
}

void packed_scores(const FmhaStep& s) {
  keep_order();
  std::int64_t panel = first_panel(s);
  for (; panel + 2 <= end_panel(s); panel += 2) scores_of<2>(s, panel);
  if (panel < end_panel(s)) scores_of<1>(s, panel);
  keep_order();
}

template <int PANELS>
void values_of(const FmhaStep& s, std::int64_t panel) {
  const std::int64_t begin = s.first / 2, end = (s.last + 1) / 2, panel_bytes = s.v_words * kPanelBytes;
  const auto* p = static_cast<const unsigned char*>(s.weights);
  const unsigned char* v = static_cast<const unsigned char*>(s.v) + panel * panel_bytes;
  float* const out = s.out + panel * kFmhaRows * kFmhaPanel;
  load_sums<PANELS>(out, kFmhaRows * kPanelBytes, kPanelBytes);
  for (std::int64_t i = first_panel(s); i < end_panel(s); ++i) {
    const unsigned char *left = v + i * kChunkBytes, *right = left + panel_bytes;
    const std::int64_t first = begin - i * kGrain, last = end - i * kGrain;
    Padded some_left, some_right;
    if (first > 0 || last < kGrain) {
      some_left.fill(left, first, last);
      if (PANELS > 1) some_right.fill(right, first, last);
      left = some_left.words, right = some_right.words;
    }
    add_chunk<PANELS>(p + i * 64, kFmhaStride * 2, left, right);
  }
  store_sums<PANELS>(out, kFmhaRows * kPanelBytes, kPanelBytes);
}

void packed_values(const FmhaStep& s) {
  rescale_sums(s);
  std::int64_t panel = 0;
  for (; panel + 2 <= s.v_panels; panel += 2) values_of<2>(s, panel);
  if (panel < s.v_panels) values_of<1>(s, panel);
  keep_order();
}

void begin_packed() {
  static_assert(kGrain == kTileRows && kFmhaPanel == 2 * kGrain);
  _tile_loadconfig(&kPacked);
}

}  // namespace

constinit const AmxFmha kAmxFmha = {kGrain,
                                    &packed_scores,
                                    &packed_values,
                                    {&begin_packed, &end_tiles},
                                    tiles_of_rows<RowsOfBf16, kFmhaRowsBf16>(),
                                    tiles_of_rows<RowsOfFp8<DType::fp8_ocp>, kFmhaRowsFp8>(),
                                    tiles_of_rows<RowsOfFp8<DType::fp8_fnuz>, kFmhaRowsFnuz>(),
                                    &tile_product,
                                    {&begin_products, &end_tiles}};

}  // namespace host
}  // namespace v1
}  // namespace ckgen
