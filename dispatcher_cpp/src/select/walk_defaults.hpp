// The step default: what is rejected, then what is left by cost, ties to the earlier.
#pragma once

#include "src/select/walk_offer.hpp"

namespace ckgen::inline v1::detail {

/// Some kernels answer only where a row chose them.
inline Verdict verdict_by_default(const WalkState& w, const InstanceDesc& instance) noexcept {
  Verdict verdict = verdict_unless_caller_owns(w, instance, w.q.verdict(instance, w.order.k_batch));
  if (w.q.batch_invariant) verdict = verdict_in_order(w, instance, w.order.k_batch, verdict);
  if (!verdict.ok() || !instance.constraints.measured_only) return verdict;
  return broken(ProblemRule::gemm_instance_untuned, w.q.sizes.m, 0);
}

/// The default that follows position `last` of that cost in the order of (cost, position); updates the cost.
inline std::uint32_t next_default(const WalkState& w, std::uint32_t last, SplitCost& of_last) noexcept {
  const std::uint32_t none = w.entry->default_end;
  const Sizes sizes = w.q.cost_sizes();
  std::uint32_t best = none;
  SplitCost best_cost;
  for (std::uint32_t i = w.entry->default_begin; i < none; ++i) {
    const InstanceDesc& instance = w.instance(w.q.index.default_instance(i));
    if (!verdict_by_default(w, instance).ok()) continue;
    const SplitCost own = w.q.cost(instance, sizes);
    const bool behind = own.cost > of_last.cost || (own.cost == of_last.cost && i > last);
    if (behind && (best == none || own.cost < best_cost.cost)) {
      best = i;
      best_cost = own;
    }
  }
  of_last = best_cost;
  return best;
}

template <class Sink>
[[gnu::noinline]] bool from_defaults(const Walk<Sink>& w) noexcept(kNoThrow<Sink>) {
  const std::uint32_t none = w.entry->default_end;
  const Sizes sizes = w.q.cost_sizes();
  SplitCost best_cost;
  std::uint32_t best = none;
  for (std::uint32_t i = w.entry->default_begin; i < none; ++i) {
    const std::uint32_t index = w.q.index.default_instance(i);
    const InstanceDesc& instance = w.instance(index);
    const Verdict verdict = verdict_by_default(w, instance);
    if (!verdict.ok()) {
      if (w.sink.offer({Tier::default_, index, w.order.k_batch, 0}, verdict)) return true;
      continue;
    }
    const SplitCost found = w.q.cost(instance, sizes);
    if (best == none || found.cost < best_cost.cost) {
      best = i;
      best_cost = found;
    }
  }
  while (best != none) {
    const std::uint32_t splits = w.q.batch_invariant ? w.order.k_batch : best_cost.splits;
    if (w.sink.offer({Tier::default_, w.q.index.default_instance(best), splits, 0}, {})) return true;
    best = next_default(w, best, best_cost);
  }
  return false;
}

}  // namespace ckgen::inline v1::detail
