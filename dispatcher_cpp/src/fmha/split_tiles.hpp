// Query tiles of a split-KV plan, and how the keys of one are cut.
#pragma once

#include <algorithm>
#include <cstdint>

#include <ckgen/fmha_split.hpp>

namespace ckgen::inline v1::detail {

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) noexcept {
  return (a + b - 1) / b;
}

/// For 0 <= a < 2^32 and 0 < b < 2^32: several times as fast as 64-bit divisions.
inline std::int64_t narrow_div(std::int64_t a, std::int64_t b) noexcept {
  return static_cast<std::uint32_t>(a) / static_cast<std::uint32_t>(b);
}
inline std::int64_t narrow_ceil_div(std::int64_t a, std::int64_t b) noexcept {
  return a == 0 ? 0 : narrow_div(a - 1, b) + 1;
}

/// What every tile of a legal problem shares.
struct SplitGeometry {
  FmhaMask mask;
  std::int64_t m0, n0;
  std::int64_t group;        // query heads that are rows of a tile
  std::int64_t unit;         // columns: n0 and page_size divide it
  std::int64_t fixed_units;  // of fixed_split_size; 0: none
  std::int32_t heads;
  std::int32_t workgroups;  // of an item
};

/// The visible columns of a tile in units: those of the sinks, then the window's from window_unit on.
struct TileKeys {
  FmhaColumns columns;
  std::int64_t sink_units;
  std::int64_t window_unit;  // at least sink_units
  std::int64_t units;        // all of them; 0: no key is visible

  std::int64_t column_unit(std::int64_t position) const noexcept {
    return position < sink_units ? position : position - sink_units + window_unit;
  }
};

/// Of the tile with `rows` rows from `row` on.
inline TileKeys tile_keys(const SplitGeometry& g, std::int64_t length_q, std::int64_t length_k, std::int64_t row,
                          std::int64_t rows) noexcept {
  if (!g.mask.masked) return {{0, 0, length_k}, 0, 0, narrow_ceil_div(length_k, g.unit)};
  const std::int64_t first = g.group == 1 ? row : narrow_div(row, g.group);
  const std::int64_t last = g.group == 1 ? row + rows - 1 : narrow_div(row + rows - 1, g.group);
  const FmhaColumns columns = fmha_columns(g.mask, length_q, length_k, first, last);
  const std::int64_t sinks = columns.sink_end == 0 ? 0 : narrow_ceil_div(columns.sink_end, g.unit);
  const std::int64_t from = columns.begin == 0 ? 0 : std::max(narrow_div(columns.begin, g.unit), sinks);
  const std::int64_t to = columns.begin == columns.end ? from : narrow_ceil_div(columns.end, g.unit);
  return {columns, sinks, from, sinks + std::max<std::int64_t>(to - from, 0)};
}

struct Columns {
  std::int32_t begin, end;
};

/// The columns from the first unit to the last, of positions [from, to), from < to.
inline Columns columns_of(const SplitGeometry& g, const TileKeys& keys, std::int64_t from, std::int64_t to) noexcept {
  std::int64_t begin = keys.column_unit(from) * g.unit;
  if (from >= keys.sink_units) begin = std::max(begin, narrow_div(keys.columns.begin, g.n0) * g.n0);
  const std::int64_t end = (keys.column_unit(to - 1) + 1) * g.unit;
  const bool in_window = keys.columns.begin < std::min(end, keys.columns.end);
  const std::int64_t most = in_window ? keys.columns.end : keys.columns.sink_end;
  return {static_cast<std::int32_t>(begin), static_cast<std::int32_t>(std::min(end, most))};
}

/// Cuts at multiples of a fixed number of units, whatever the rest of the batch is.
class FixedCuts {
 public:
  FixedCuts(const TileKeys& keys, std::int64_t size) noexcept : keys_(keys), size_(size) {
    sink_chunks_ = ceil_div(keys.sink_units, size);
    if (keys.units == keys.sink_units) return;
    first_ = keys.window_unit / size;
    const std::int64_t last = keys.column_unit(keys.units - 1) / size;
    shared_ = sink_chunks_ > first_;  // a chunk has sinks and the window's first columns
    window_chunks_ = last - first_ + 1 - (shared_ ? 1 : 0);
  }
  std::int64_t count() const noexcept { return std::max<std::int64_t>(sink_chunks_ + window_chunks_, 1); }

  /// The position at which a chunk begins; of `count()`, all positions.
  std::int64_t begin(std::int64_t chunk) const noexcept {
    if (chunk == 0) return 0;
    if (chunk < sink_chunks_) return chunk * size_;
    if (chunk == count()) return keys_.units;
    const std::int64_t unit = (first_ + chunk - sink_chunks_ + (shared_ ? 1 : 0)) * size_;
    return std::max(unit - keys_.window_unit, std::int64_t{0}) + keys_.sink_units;
  }

 private:
  const TileKeys& keys_;
  std::int64_t size_;
  std::int64_t sink_chunks_ = 0;
  std::int64_t window_chunks_ = 0;
  std::int64_t first_ = 0;
  bool shared_ = false;
};

}  // namespace ckgen::inline v1::detail
