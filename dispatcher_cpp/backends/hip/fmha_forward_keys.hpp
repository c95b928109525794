// The keys of a tile, as our kernel of attention of any options shares them among its work-items.
//
// C++20, for the device half of a HIP compile.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>

#include "fmha_forward_rows.hpp"

namespace ckgen::hip {

/// Where rows of K and V begin, and their descales where blocks of them have some.
struct ForwardNotes {
  std::int64_t k[kScoreTile], v[kScoreTile];
  float k_descale[kScoreTile], v_descale[kScoreTile];
};

template <DType kType, FmhaTraits kTraits>
struct ForwardCache {
  static constexpr bool kPaged = kTraits.kv != FmhaKv::contiguous;
  static constexpr bool kVectors = kTraits.kv_layout == FmhaKvLayout::vectorized;
  static constexpr bool kBlocks = kTraits.quant == FmhaQuant::blockscale || kTraits.quant == FmhaQuant::kv_blockscale;
  static constexpr int kVector = 16 / MemoryElement<kType>::kBytes;
  static constexpr int kScaleRows = 128;
  using K = PlacedRows<kType, kVectors ? Columns::vectors : Columns::together>;
  using V = PlacedRows<kType, kVectors || kTraits.v_column ? Columns::apart : Columns::together>;

  /// Notes the tile whose first key is `first`; a key that no row sees has the complement of another one's place, so
  /// that neither its memory nor its page's number is read.
  __device__ static void note(const FmhaForwardArgs& x, const ForwardSequence& s, const ForwardKeys& keys,
                              std::int32_t first, ForwardNotes& notes) {
    const auto n = static_cast<std::int32_t>(threadIdx.x);
    if (n >= kScoreTile) return;
    const std::int32_t key = keys.seen(first + n);
    const std::int32_t in_table = kPaged ? key / x.shape.page_size : 0, in_page = key - in_table * x.shape.page_size;
    const std::int32_t page = kPaged ? s.pages[in_table] : 0;
    const std::int64_t of_k = place(s, x.k_strides, page), of_v = place(s, x.v_strides, page);
    std::int64_t k = 0, v = 0;
    if constexpr (kVectors) {
      k = of_k + in_page * kVector;
      v = of_v + in_page / kVector * (std::int64_t{kVector} * x.shape.hdim_v) + in_page % kVector;
    } else {
      const std::int64_t row = kPaged ? in_page : s.first_key + key;
      k = of_k + row * x.k_strides.row;
      v = of_v + (kTraits.v_column ? row : row * x.v_strides.row);
    }
    const bool seen = key == first + n;
    notes.k[n] = seen ? k : ~k;
    notes.v[n] = seen ? v : ~v;
    if constexpr (kBlocks) {
      std::int64_t at = std::int64_t{page} * x.shape.heads_k + s.head;
      if constexpr (kTraits.quant == FmhaQuant::blockscale)
        at = (std::int64_t{s.b} * x.shape.heads_k + s.head) * blocks(x.shape.seqlen_k) + key / kScaleRows;
      notes.k_descale[n] = x.k_descale[at];
      notes.v_descale[n] = x.v_descale[at];
    }
  }

  /// Keys behind the last that some row sees count for nothing.
  __device__ static K k(const FmhaForwardArgs& x, const ForwardNotes& notes, std::int32_t count) {
    return {x.k, notes.k, count, x.shape.hdim_q, std::int64_t{kVector} * x.shape.page_size};
  }
  __device__ static V v(const FmhaForwardArgs& x, const ForwardNotes& notes, std::int32_t count) {
    return {x.v, notes.v, count, x.shape.hdim_v, kVectors ? kVector : x.v_strides.row};
  }

  /// Blocks that have a descale each, of so many rows.
  __device__ static std::int64_t blocks(std::int64_t rows) { return (rows + (kScaleRows - 1)) / kScaleRows; }

 private:
  /// Elements before the head, in its sequence or page.
  __device__ static std::int64_t place(const ForwardSequence& s, const FmhaStrides& strides, std::int32_t page) {
    const std::int64_t entry = kPaged ? page : kTraits.varlen ? 0 : s.b;
    return entry * strides.batch + s.head * strides.head;
  }
};

}  // namespace ckgen::hip
