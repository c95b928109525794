// Masks and sizes of an attention problem as ck_tile's kernels of both directions take them. For host units.
#pragma once

#include <ck_tile/core.hpp>
#include <ck_tile/ops/fmha/block/block_masking.hpp>

#include <cstdint>

#include <ckgen/fmha.hpp>

namespace ckgen::tile {

using ck_tile::index_t;

/// A mask as ck_tile's kernel takes it.
struct FmhaWindow {
  index_t left = -1;
  index_t right = -1;
  ck_tile::GenericAttentionMaskEnum type = ck_tile::GenericAttentionMaskEnum::NO_MASK;
};

/// A limit that no key can be beyond is none, so that ck_tile's sums of limits and lengths do not wrap. With slopes, a
/// causal mask has a left limit all the same: without, ck_tile counts distances from the first key, which shifts lse.
inline FmhaWindow window_of(const FmhaTraits& traits, const FmhaShape& shape) noexcept {
  if (!traits.masked) return {};
  const std::int64_t most = shape.seqlen_q + shape.seqlen_k;
  const auto limit = [&](std::int32_t of) { return of < 0 || of >= most ? index_t{-1} : index_t{of}; };
  FmhaWindow found{limit(shape.window_left), limit(shape.window_right),
                   shape.corner == FmhaCorner::top_left ? ck_tile::GenericAttentionMaskEnum::MASK_FROM_TOP_LEFT
                                                        : ck_tile::GenericAttentionMaskEnum::MASK_FROM_BOTTOM_RIGHT};
  if (traits.bias == FmhaBias::alibi && found.left < 0) found.left = static_cast<index_t>(most);
  return found;
}

/// ck_tile's counts and strides have 32 bits; check_fmha() looked at them.
constexpr index_t narrow(std::int64_t size) noexcept {
  return static_cast<index_t>(size);
}

}  // namespace ckgen::tile
