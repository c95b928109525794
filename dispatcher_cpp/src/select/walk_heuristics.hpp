// The step heuristic: decision rules for a signature on an arch.
#pragma once

#include "src/select/walk_offer.hpp"

namespace ckgen::inline v1::detail {

inline std::int64_t value_of(Feature feature, const Query& q) noexcept {
  switch (feature) {
    case Feature::m: return q.sizes.m;
    case Feature::n: return q.sizes.n;
    case Feature::k: return q.sizes.k;
    case Feature::mn: return q.sizes.m * q.sizes.n;
    case Feature::rows: return q.cost_sizes().m;
    case Feature::cus: return q.cu_num;
  }
  return 0;
}

inline bool holds(const Arm& arm, const Query& q) noexcept {
  for (std::uint32_t i = 0; i < arm.condition_count; ++i) {
    const Condition& c = arm.conditions[i];
    const std::int64_t value = value_of(c.feature, q);
    const bool ok = c.compare == Compare::le   ? value <= c.value
                    : c.compare == Compare::lt ? value < c.value
                    : c.compare == Compare::eq ? value == c.value
                                               : value != c.value;
    if (!ok) return false;
  }
  return true;
}

/// Of each rule the first arm that holds.
template <class Sink>
[[gnu::noinline]] bool from_heuristics(const Walk<Sink>& w) noexcept(kNoThrow<Sink>) {
  for (std::uint32_t i = w.entry->heuristic_begin; i < w.entry->heuristic_end; ++i) {
    const HeuristicRef& ref = w.q.index.heuristic(i);
    for (std::uint32_t a = 0; a < ref.heuristic->arm_count; ++a) {
      const Arm& arm = ref.heuristic->arms[a];
      if (!holds(arm, w.q)) continue;
      if (w.offer(Tier::heuristic, ref.instance_base + arm.choice.instance, 1, 0)) return true;
      break;
    }
  }
  return false;
}

}  // namespace ckgen::inline v1::detail
