// What a default costs: predicted clocks where all defaults of the entry have a work, else the plain cost.
#pragma once

#include "src/gemm/predicted.hpp"
#include "src/select/walk_offer.hpp"

namespace ckgen::inline v1::detail {

/// Of the default at a position of the index, on a problem that it supports.
inline SplitCost cost_of_default(const WalkState& w, std::uint32_t i, const Sizes& sizes) noexcept {
  if (w.entry->has_works) return {predicted_cost(w.q.index.default_work(i), sizes, w.q.cu_num), 1};
  return w.q.cost(w.instance(w.q.index.default_instance(i)), sizes);
}

}  // namespace ckgen::inline v1::detail
