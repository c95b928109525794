// The step default: what is rejected, then what is left by cost, ties to the earlier.
#pragma once

#include "src/fmha/cost.hpp"
#include "src/select/caller_owns.hpp"
#include "src/select/tiling.hpp"
#include "src/select/walk_state.hpp"

namespace ckgen::inline v1::detail {

/// k_batch and what it costs: of attention the best splits of keys, of any other op one split of K.
inline FmhaSplits default_splits(const Query& q, const InstanceDesc& instance, const Sizes& sizes) noexcept {
  if (q.signature.op == Op::fmha) [[unlikely]]
    return best_splits(instance.fmha, q.signature.fmha, q.problem.fmha(), q.cu_num);
  return {default_cost(instance, sizes, q.cu_num), 1};
}

/// The default that follows position `last` of that cost in the order of (cost, position); updates the cost.
inline std::uint32_t next_default(const WalkState& w, std::uint32_t last, FmhaSplits& of_last) noexcept {
  const std::uint32_t none = w.entry->default_end;
  const Sizes sizes = w.q.cost_sizes();
  std::uint32_t best = none;
  FmhaSplits best_cost;
  for (std::uint32_t i = w.entry->default_begin; i < none; ++i) {
    const InstanceDesc& instance = w.instance(w.q.index.default_instance(i));
    if (!verdict_unless_caller_owns(w, instance, 1).ok()) continue;
    const FmhaSplits own = default_splits(w.q, instance, sizes);
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
  FmhaSplits best_cost;
  std::uint32_t best = none;
  for (std::uint32_t i = w.entry->default_begin; i < none; ++i) {
    const std::uint32_t index = w.q.index.default_instance(i);
    const InstanceDesc& instance = w.instance(index);
    const Verdict verdict = verdict_unless_caller_owns(w, instance, 1);
    if (!verdict.ok()) {
      if (w.sink.offer({Tier::default_, index, 1, 0}, verdict)) return true;
      continue;
    }
    const FmhaSplits found = default_splits(w.q, instance, sizes);
    if (best == none || found.cost < best_cost.cost) {
      best = i;
      best_cost = found;
    }
  }
  while (best != none) {
    if (w.sink.offer({Tier::default_, w.q.index.default_instance(best), best_cost.splits, 0}, {})) return true;
    best = next_default(w, best, best_cost);
  }
  return false;
}

}  // namespace ckgen::inline v1::detail
