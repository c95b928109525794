// The rows and keys of one sequence, as our kernels of attention's gradients find them, and which pairs see each other.
//
// C++20, for the device half of a HIP compile.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>

#include "fmha_gradient_args.hpp"

namespace ckgen::hip {

/// Rows and keys that count, and where they begin: of varlen the first of all rows, else the batch entry.
struct GradientSequence {
  std::int32_t b, rows, keys;
  std::int64_t first_row, first_key;
};

template <FmhaTraits kTraits>
__device__ GradientSequence gradient_sequence(const FmhaGradientArgs& x, std::int32_t b) {
  if constexpr (kTraits.varlen) {
    const std::int32_t q = x.seqstart_q[b], k = x.seqstart_k[b];
    return {b, x.seqlen_q != nullptr ? x.seqlen_q[b] : x.seqstart_q[b + 1] - q,
            x.seqlen_k != nullptr ? x.seqlen_k[b] : x.seqstart_k[b + 1] - k, q, k};
  }
  return {b, x.seqlen_of_q, x.seqlen_k != nullptr ? x.seqlen_k[b] : x.seqlen_of_k, 0, 0};
}

/// Elements before row `first` of a head of the sequence; `begin`: first_row or first_key.
template <FmhaTraits kTraits>
__device__ std::int64_t gradient_place(const GradientSequence& s, const FmhaStrides& strides, std::int64_t begin,
                                       std::int32_t head, std::int64_t first) {
  const std::int64_t entry = kTraits.varlen ? begin * strides.row : s.b * strides.batch;
  return entry + head * strides.head + first * strides.row;
}

/// Keys that a row sees: low to high, and those below `sinks` that are not beyond high.
struct SeenKeys {
  std::int64_t low, high;

  __device__ bool sees(std::int64_t key, std::int32_t sinks) const {
    return key <= high && (key >= low || key < sinks);
  }
};

template <FmhaTraits kTraits>
__device__ SeenKeys seen_keys(const FmhaGradientArgs& x, const GradientSequence& s, std::int64_t row) {
  SeenKeys seen{0, std::int64_t{s.keys} - 1};
  if constexpr (kTraits.masked) {
    const std::int64_t at = row + (x.top_left ? 0 : s.keys - s.rows);
    if (x.window_left >= 0) seen.low = at - x.window_left;
    if (x.window_right >= 0 && at + x.window_right < seen.high) seen.high = at + x.window_right;
  }
  return seen;
}

/// Whether a row of the tile at `row` may see a key of that at `key`.
template <FmhaTraits kTraits>
__device__ bool tile_is_seen(const FmhaGradientArgs& x, const GradientSequence& s, std::int32_t row, std::int32_t key) {
  if constexpr (!kTraits.masked) return true;
  const std::int32_t last = (row + kScoreTile < s.rows ? row + kScoreTile : s.rows) - 1;
  return seen_keys<kTraits>(x, s, last).high >= key &&
         (seen_keys<kTraits>(x, s, row).low < key + kScoreTile || key < x.sink_tokens);
}

}  // namespace ckgen::hip
