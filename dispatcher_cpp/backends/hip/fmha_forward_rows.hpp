// Where the rows and keys of one sequence lie, as our kernel of attention of any options finds them.
//
// C++20, for the device half of a HIP compile.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>

#include <ckgen/fmha_mask.hpp>

#include "fmha_forward_args.hpp"
#include "fmha_products.hpp"

namespace ckgen::hip {

/// One sequence and KV head. Rows are queries times the query heads of the KV head, these next to each other.
struct ForwardSequence {
  std::int32_t b, head, group;
  std::int32_t queries, keys;
  std::int64_t first_query, first_key;  // of varlen, before the sequence
  const std::int32_t* pages;

  __device__ std::int32_t rows() const { return queries * group; }
};

template <FmhaTraits kTraits>
__device__ ForwardSequence forward_sequence(const FmhaForwardArgs& x, std::int32_t b, std::int32_t head) {
  ForwardSequence s{b,
                    head,
                    x.shape.heads_q / x.shape.heads_k,
                    static_cast<std::int32_t>(x.shape.seqlen_q),
                    static_cast<std::int32_t>(x.shape.seqlen_k),
                    0,
                    0,
                    nullptr};
  if constexpr (kTraits.varlen) {
    s.first_query = x.seqstart_q[b];
    s.queries = x.seqlen_q != nullptr ? x.seqlen_q[b] : x.seqstart_q[b + 1] - x.seqstart_q[b];
  }
  if constexpr (kTraits.varlen && kTraits.kv == FmhaKv::contiguous) {
    s.first_key = x.seqstart_k[b];
    s.keys = x.seqstart_k[b + 1] - x.seqstart_k[b];
  }
  if constexpr (kTraits.kv == FmhaKv::page_list) {
    const std::int32_t from = x.page_starts[b], count = x.page_starts[b + 1] - from;
    s.pages = x.pages + from;
    s.keys = count > 0 ? (count - 1) * x.shape.page_size + x.last_page[b] : 0;
  } else {
    if constexpr (kTraits.kv == FmhaKv::block_table) s.pages = x.pages + b * x.table_stride;
    if (x.seqlen_k != nullptr) s.keys = x.seqlen_k[b];
  }
  return s;
}

/// A row of Q and what it sees.
struct ForwardRow {
  std::int32_t query, head;
  bool is_there;  // else the last one that is
  std::int32_t sink_end, begin, end;

  __device__ bool sees(std::int32_t key) const { return key < end && (key >= begin || key < sink_end); }
};

template <FmhaTraits kTraits>
__device__ FmhaColumns columns_of(const FmhaForwardArgs& x, const ForwardSequence& s, std::int32_t first,
                                  std::int32_t last) {
  const FmhaShape& shape = x.shape;
  const FmhaMask mask{kTraits.masked, shape.corner, shape.window_left, shape.window_right, shape.sink_tokens};
  return fmha_columns(mask, s.queries, s.keys, first, last);
}

template <FmhaTraits kTraits>
__device__ ForwardRow forward_row(const FmhaForwardArgs& x, const ForwardSequence& s, std::int32_t index) {
  const bool is_there = index < s.rows();
  const std::int32_t at = is_there ? index : s.rows() - 1, query = at / s.group;
  const FmhaColumns seen = columns_of<kTraits>(x, s, query, query);
  return {query,
          s.head * s.group + at % s.group,
          is_there,
          static_cast<std::int32_t>(seen.sink_end),
          static_cast<std::int32_t>(seen.begin),
          static_cast<std::int32_t>(seen.end)};
}

/// Elements before a row of Q, of O or of what there is for each score.
template <FmhaTraits kTraits>
__device__ std::int64_t forward_place(const ForwardSequence& s, const FmhaStrides& strides, const ForwardRow& row) {
  const std::int64_t entry = kTraits.varlen ? s.first_query * strides.row : s.b * strides.batch;
  return entry + row.head * strides.head + row.query * strides.row;
}

/// Keys that some row of a tile sees, and the tiles of keys that have them: those with sink tokens, then those of the
/// window.
struct ForwardKeys {
  std::int32_t sink_end, begin, end;
  std::int32_t sink_tiles, window_tile, count;

  __device__ explicit ForwardKeys(const FmhaColumns& some)
      : sink_end(static_cast<std::int32_t>(some.sink_end)),
        begin(static_cast<std::int32_t>(some.begin)),
        end(static_cast<std::int32_t>(some.end)) {
    const auto tiles_to = [](std::int32_t key) { return (key + (kScoreTile - 1)) / kScoreTile; };
    const bool has_window = begin < end;
    sink_tiles = tiles_to(sink_end);
    window_tile = begin / kScoreTile > sink_tiles ? begin / kScoreTile : sink_tiles;
    const std::int32_t of_window = has_window ? tiles_to(end) - window_tile : 0;
    count = sink_tiles + (of_window > 0 ? of_window : 0);
  }

  /// The first key of a tile.
  __device__ std::int32_t first_of(std::int32_t index) const {
    return (index < sink_tiles ? index : window_tile + index - sink_tiles) * kScoreTile;
  }
  /// The last key that some row sees.
  __device__ std::int32_t last() const { return (begin < end ? end : sink_end) - 1; }
  /// The key, or where no row sees it another one that some row does.
  __device__ std::int32_t seen(std::int32_t key) const {
    if (key < sink_end) return key;
    return key > last() || begin >= end ? last() : key < begin ? begin : key;
  }
};

/// How the columns of a row lie: next to each other, a distance apart, or in vectors of 16 bytes a distance apart.
enum class Columns : std::uint8_t { together, apart, vectors };

/// Rows that lie anywhere: `places` has the first element of each. One below 0 is the complement of that of another
/// row, and its own elements are read as 0.
template <DType kType, Columns kColumns>
struct PlacedRows {
  static constexpr int kVector = 16 / MemoryElement<kType>::kBytes;
  const void* memory;
  const std::int64_t* places;
  std::int32_t count, columns;
  std::int64_t distance;  // elements

  __device__ float value(int row, int column) const {
    const std::int64_t at = places[row];
    const float found = MemoryElement<kType>::load(memory, (at < 0 ? ~at : at) + in_row(inside(column, columns)));
    return at >= 0 && column < columns ? found : 0.0F;
  }

 private:
  __device__ std::int64_t in_row(int column) const {
    if constexpr (kColumns == Columns::together) return column;
    if constexpr (kColumns == Columns::apart) return column * distance;
    return column / kVector * distance + column % kVector;
  }
};

}  // namespace ckgen::hip
