// Which keys an item has, in blocks, and in which pages they lie.
//
// A block is 4 runs of keys, a run as many as 16 bytes have elements. Lanes 16 g .. 16 g + 15 have run g of the scores
// and of V; of K, lane l with m = l % 16 has keys m % 4 + 4 n of run m / 4. A key that no row of the tile sees stands
// for one that is seen: its memory, and that of its page's number, is never read.
#pragma once

#include <algorithm>

#include "fmha_decode_args.hpp"
#include "fmha_decode_math.hpp"

namespace ckgen::hip {

#if CKGEN_HAS_HALF_PRODUCTS

/// One item, the same for all lanes of a workgroup.
struct DecodeTile {
  std::int32_t request, head;  // of KV
  std::int32_t q_tile;
  std::int32_t split, splits;
  std::int32_t kv_begin, kv_end;
  std::int64_t partial_row;  // of a plan's item, the first; -1: O is written
  std::int32_t length_q, length_k;
  std::int32_t first_q, first_k;  // rows of varlen tensors before the request's
};

/// Keys of a tile and the blocks that have them: those with sink tokens, then those of the window.
struct DecodeBlocks {
  std::int32_t sink_end;            // keys below are seen by some row
  std::int32_t begin, last;         // so are these, both inclusive
  std::int32_t all_begin, all_end;  // of these, those that every row sees
  std::int32_t sink_block, sink_blocks, window_block;
  std::int32_t count;

  __device__ std::int32_t block(std::int32_t index) const {
    return index < sink_blocks ? sink_block + index : window_block + index - sink_blocks;
  }
  /// The key, or where no row sees it another one that some row does.
  __device__ std::int32_t seen(std::int32_t key) const {
    return key < sink_end ? key : std::min(std::max(key, begin), last);
  }
};

/// The mask's columns of queries first_query .. last_query, within the tile's [kv_begin, kv_end). A cut is a multiple
/// of `size`, the keys of a block.
__device__ inline DecodeBlocks blocks_of(const FmhaMask& mask, const DecodeTile& tile, std::int32_t first_query,
                                         std::int32_t last_query, std::int32_t size) {
  const auto narrow = [](std::int64_t column) { return static_cast<std::int32_t>(column); };
  const auto columns = [&](std::int32_t first, std::int32_t last) {
    return fmha_columns(mask, tile.length_q, tile.length_k, first, last);
  };
  const auto blocks_to = [&](std::int32_t column) { return (column + (size - 1)) / size; };
  const FmhaColumns some = columns(first_query, last_query);
  const std::int32_t sink_end = std::min(narrow(some.sink_end), tile.kv_end);
  const std::int32_t begin = std::max(narrow(some.begin), tile.kv_begin);
  const std::int32_t end = std::min(narrow(some.end), tile.kv_end);
  const bool has_sinks = tile.kv_begin < sink_end, has_window = begin < end;

  DecodeBlocks out;
  out.sink_end = has_sinks ? sink_end : 0;
  out.begin = has_window ? begin : sink_end - 1;
  out.last = has_window ? end - 1 : sink_end - 1;
  out.all_begin = narrow(columns(last_query, last_query).begin);
  out.all_end = std::min(narrow(columns(first_query, first_query).end), end);
  out.sink_block = tile.kv_begin / size;
  out.sink_blocks = has_sinks ? blocks_to(sink_end) - out.sink_block : 0;
  out.window_block = std::max(begin / size, out.sink_block + out.sink_blocks);
  out.count = out.sink_blocks + (has_window ? std::max(blocks_to(end) - out.window_block, 0) : 0);
  return out;
}

/// Where keys lie: in pages of any size, or (kPaged false) in rows one after the other, which are one page.
template <bool kPaged>
struct DecodePages {
  const std::int32_t* table;  // of the request
  std::int32_t size;
  PageDivision division;

  __device__ std::int32_t page_of(std::int32_t key) const {
    if constexpr (!kPaged)
      return 0;
    else
      return load_at<std::int32_t>(table, std::int64_t{4} * index(key));
  }
  __device__ std::int32_t row_of(std::int32_t key) const {
    if constexpr (!kPaged)
      return key;
    else
      return key - index(key) * size;
  }

 private:
  __device__ std::int32_t index(std::int32_t key) const {
    return static_cast<std::int32_t>(__umulhi(2 * static_cast<std::uint32_t>(key), division.factor) >> division.shift);
  }
};

#endif

}  // namespace ckgen::hip
