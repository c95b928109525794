// The step heuristic: decision rules for a signature on an arch.
#pragma once

#include <algorithm>
#include <string_view>

#include <ckgen/product_data.hpp>

#include "src/operation/cost.hpp"
#include "src/select/walk_offer.hpp"

namespace ckgen::inline v1::detail {

inline std::uint64_t of_tiles(const Condition& c, std::uint64_t rows, std::uint64_t n, std::uint64_t cu_num) noexcept {
  constexpr std::uint64_t kMostRows = std::uint64_t{1} << 40, kMostTiles = std::uint64_t{1} << 50;
  const auto tile_m = static_cast<std::uint64_t>(c.tile_m), tile_n = static_cast<std::uint64_t>(c.tile_n);
  if (c.feature == Feature::pad) {
    rows = std::min(rows, kMostRows);
    return 1000 * (ceil_div(rows, tile_m) * tile_m) / rows;
  }
  std::uint64_t tiles = ceil_div(rows, tile_m) * ceil_div(n, tile_n);
  if (c.feature == Feature::tiles) return tiles;
  if (c.feature == Feature::fill) tiles = std::min(tiles, kMostTiles);
  const std::uint64_t waves = ceil_div(tiles, cu_num);
  return c.feature == Feature::waves ? waves : 1000 * tiles / std::max<std::uint64_t>(waves * cu_num, 1);
}

/// As `value_of` of families/common/decision_rule.py.
inline std::int64_t value_of(const Condition& c, const Query& q) noexcept {
  switch (c.feature) {
    case Feature::m: return q.sizes.m;
    case Feature::n: return q.sizes.n;
    case Feature::k: return q.sizes.k;
    case Feature::mn: return q.sizes.m * q.sizes.n;
    case Feature::rows: return q.cost_sizes().m;
    case Feature::cus: return q.cu_num;
    default: break;
  }
  const auto rows = static_cast<std::uint64_t>(std::max<std::int64_t>(q.cost_sizes().m, 1));
  const auto n = static_cast<std::uint64_t>(q.sizes.n), cu_num = std::uint64_t{std::max(q.cu_num, 1U)};
  return static_cast<std::int64_t>(of_tiles(c, rows, n, cu_num));
}

inline bool holds(const Condition& c, const Query& q) noexcept {
  const std::int64_t value = value_of(c, q);
  switch (c.compare) {
    case Compare::le: return value <= c.value;
    case Compare::lt: return value < c.value;
    case Compare::eq: return value == c.value;
    case Compare::ne: return value != c.value;
  }
  return false;
}

/// Whether the device is of the product that the rule is of, if it is of one.
inline bool is_for(const Heuristic& rule, const Query& q) noexcept {
  return rule.sku == nullptr || rule.sku == std::string_view(product_sku(q.product));
}

/// The leaf that answers; null where the rule has no answer.
inline const Choice* leaf_of(const Heuristic& rule, const Query& q) noexcept {
  if (rule.node_count == 0) return &rule.leaves[0];
  std::int16_t at = 0;
  while (at >= 0) at = holds(rule.nodes[at].condition, q) ? rule.nodes[at].then : rule.nodes[at].otherwise;
  return at == no_leaf ? nullptr : &rule.leaves[~at];
}

/// Of each rule its leaf; whole where its splits are refused.
template <class Sink>
[[gnu::noinline]] bool from_heuristics(const Walk<Sink>& w) noexcept(kNoThrow<Sink>) {
  for (std::uint32_t i = w.entry->heuristic_begin; i < w.entry->heuristic_end; ++i) {
    const HeuristicRef& ref = w.q.index.heuristic(i);
    const Choice* leaf = is_for(*ref.heuristic, w.q) ? leaf_of(*ref.heuristic, w.q) : nullptr;
    if (leaf == nullptr) continue;
    const std::uint32_t instance = ref.instance_base + leaf->instance;
    if (w.offer(Tier::heuristic, instance, leaf->k_batch, 0)) return true;
    if (leaf->k_batch > 1 && w.offer(Tier::heuristic, instance, 1, 0)) return true;
  }
  return false;
}

}  // namespace ckgen::inline v1::detail
