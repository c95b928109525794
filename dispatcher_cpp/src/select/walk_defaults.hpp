// The step default: what is rejected, then what is left by cost, ties to the earlier.
#pragma once

#include "src/select/walk_offer.hpp"

namespace ckgen::inline v1::detail {

/// Some kernels answer only where a row chose them.
inline Verdict verdict_by_default(const WalkState& w, const InstanceDesc& instance) noexcept {
  Verdict verdict = w.q.verdict(instance, w.order.k_batch);
  if (instance.backend == Backend::hip) verdict = verdict_unless_caller_owns(w, instance, verdict);
  if (w.q.batch_invariant) verdict = verdict_in_order(w, instance, w.order.k_batch, verdict);
  if (!verdict.ok() || !instance.constraints.measured_only) return verdict;
  return broken(ProblemRule::gemm_instance_untuned, w.q.sizes.m, 0);
}

/// Whether that verdict is ok: asked of all defaults before one is taken.
inline bool answers_by_default(const WalkState& w, const InstanceDesc& instance) noexcept {
  if (!w.q.takes(instance, w.order.k_batch)) return false;
  const bool has_more = instance.constraints.measured_only || instance.backend == Backend::hip || w.q.batch_invariant;
  return !has_more || verdict_by_default(w, instance).ok();
}

/// The first in the order of (cost, position), behind `last` if that is given; at default_end: none.
inline DefaultFound next_default(const WalkState& w, const Sizes& sizes, const DefaultFound* last) noexcept {
  const auto cheapest = w.q.cheapest();
  if (cheapest != nullptr && last == nullptr) return cheapest(w.q, *w.entry, sizes);
  const std::uint32_t none = w.entry->default_end;
  std::uint32_t best = none, splits = 1;
  Wide least = 0;  // in registers: what was stored by words and is loaded whole waits
  for (std::uint32_t i = w.entry->default_begin; i < none; ++i) {
    const InstanceDesc& instance = w.instance(w.q.index.default_instance(i));
    if (!answers_by_default(w, instance)) continue;
    const SplitCost own = w.q.cost(instance, sizes);
    const bool behind = last == nullptr || own.cost > last->cost.cost || (own.cost == last->cost.cost && i > last->at);
    if (!behind || (best != none && own.cost >= least)) continue;
    best = i;
    least = own.cost;
    splits = own.splits;
  }
  return {best, {least, splits}};
}

/// Tells the sink of those that do not support the problem.
template <class Sink>
[[gnu::noinline]] bool offer_rejected(const Walk<Sink>& w) noexcept(kNoThrow<Sink>) {
  for (std::uint32_t i = w.entry->default_begin; i < w.entry->default_end; ++i) {
    const std::uint32_t index = w.q.index.default_instance(i);
    const Verdict verdict = verdict_by_default(w, w.instance(index));
    if (!verdict.ok() && w.sink.offer({Tier::default_, index, w.order.k_batch, 0}, verdict)) return true;
  }
  return false;
}

template <class Sink>
[[gnu::noinline]] bool from_defaults(const Walk<Sink>& w) noexcept(kNoThrow<Sink>) {
  const Sizes sizes = w.q.cost_sizes();
  DefaultFound found = next_default(w, sizes, nullptr);
  if ((Sink::wants_rejected || found.at == w.entry->default_end) && offer_rejected(w)) return true;
  while (found.at != w.entry->default_end) {
    const std::uint32_t splits = w.q.batch_invariant ? w.order.k_batch : found.cost.splits;
    if (w.sink.offer({Tier::default_, w.q.index.default_instance(found.at), splits, 0}, {})) return true;
    const DefaultFound last = found;
    found = next_default(w, sizes, &last);
  }
  return false;
}

}  // namespace ckgen::inline v1::detail
