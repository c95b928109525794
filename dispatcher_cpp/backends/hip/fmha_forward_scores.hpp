// Scores of a tile, and what dropout leaves of their weights, as our kernel of attention of any options computes them.
//
// Formulas: include/ckgen/fmha.hpp. C++20, for the device half of a HIP compile.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>

#include "fmha_forward_keys.hpp"
#include "fmha_math.hpp"
#include "fmha_philox.hpp"

namespace ckgen::hip {

/// kQ, kKv: types of Q, and of K and V.
template <DType kQ, DType kKv, FmhaTraits kTraits>
struct ForwardScores {
  using Cache = ForwardCache<kKv, kTraits>;
  const FmhaForwardArgs& x;
  const ForwardSequence& s;

  /// What a row's products are multiplied by: scale, and descales but for those of blocks of keys.
  __device__ float factor(const ForwardRow& row) const {
    float found = x.scale;
    if constexpr (kTraits.quant == FmhaQuant::per_tensor) found *= x.k_descale[0];
    if constexpr (kTraits.quant != FmhaQuant::none && bits(kQ) == 8) {
      std::int64_t at = 0;
      if constexpr (kTraits.quant == FmhaQuant::blockscale)
        at = (std::int64_t{s.b} * x.shape.heads_q + row.head) * Cache::blocks(x.shape.seqlen_q) +
             row.query / Cache::kScaleRows;
      found *= x.q_descale[at];
    }
    return found;
  }

  /// The score of a product of row and key, -infinity where it is not visible; `column` of the tile has the key.
  __device__ float score(const ForwardRow& row, std::int32_t key, const ForwardNotes& notes, int column, float factor,
                         float product) const {
    const std::int32_t inside_keys = inside(key, s.keys);  // what is read of keys that are not there does not count
    float found = factor * product;
    if constexpr (Cache::kBlocks) found *= notes.k_descale[column];
    if constexpr (kTraits.softcap) found = x.softcap * tanh_of(found / x.softcap);
    if constexpr (kTraits.bias == FmhaBias::elementwise)
      found += MemoryElement<kQ>::load(x.bias, forward_place<kTraits>(s, x.bias_strides, row) + inside_keys);
    if constexpr (kTraits.bias == FmhaBias::alibi) {
      const std::int32_t apart = row.query + s.keys - s.queries - key;
      const float slope =
          static_cast<const float*>(x.bias)[s.b * x.bias_strides.batch + row.head * x.bias_strides.head];
      found -= slope * static_cast<float>(apart < 0 ? -apart : apart);
    }
    return row.sees(key) ? found : -__builtin_inff();
  }

  /// What a weight is multiplied by before V is: that of dropout, and V's descale of a block.
  __device__ float kept(const ForwardRow& row, std::int32_t key, const ForwardNotes& notes, int column) const {
    float found = 1.0F;
    if constexpr (Cache::kBlocks) found = notes.v_descale[column];
    if constexpr (kTraits.dropout == FmhaDropout::none) return found;
    std::uint32_t byte = 0;
    if constexpr (kTraits.dropout == FmhaDropout::philox) {
      const auto plane = static_cast<std::uint64_t>(std::int64_t{s.b} * x.shape.heads_q + row.head);
      const auto query = static_cast<std::uint32_t>(row.query);
      byte = drawn_bytes(x.seed, x.offset, plane, query, static_cast<std::uint32_t>(key)) >> (8 * (query % 4)) & 0xffU;
    } else {
      byte = x.rand_val[forward_place<kTraits>(s, x.rand_val_strides, row) + inside(key, s.keys)];
    }
    return static_cast<std::int32_t>(byte) <= x.most_kept ? found * x.kept_factor : 0.0F;
  }
};

}  // namespace ckgen::hip
