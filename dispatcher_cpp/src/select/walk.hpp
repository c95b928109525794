// The walk of docs/selection.md, once, for everyone who follows it: select, next, explain.
#pragma once

#include "src/select/walk_defaults.hpp"
#include "src/select/walk_heuristics.hpp"
#include "src/select/walk_offer.hpp"
#include "src/select/walk_other_cu.hpp"
#include "src/select/walk_own_cu.hpp"

namespace ckgen::inline v1::detail {

template <class Sink>
void from_forced(const Walk<Sink>& w) noexcept(kNoThrow<Sink>) {
  const Query& q = w.q;
  if (q.forced == no_index) return;
  const InstanceDesc& instance = w.instance(q.forced);
  // Costs are of problems that the instance supports.
  const bool has_cost = q.foreign_verdict(instance, 1).ok();
  w.offer_foreign(Tier::forced, q.forced, has_cost ? q.cost(instance, q.cost_sizes()).splits : 1, 0);
}

template <class Sink>
[[gnu::noinline]] bool from_overrides(const Walk<Sink>& w) noexcept(kNoThrow<Sink>) {
  const Query& q = w.q;
  OverrideKey more{q.key_batch(), {}};
  if (const auto own = q.operation().listing.override_key) own(q, more);
  const Override* row = q.overrides->find(q, more);
  return row != nullptr && w.offer_foreign(Tier::override_, row->instance, row->k_batch, 0);
}

/// What tables of the operation's own kind measured.
template <class Sink>
[[gnu::noinline]] bool from_own_tables(const Walk<Sink>& w) noexcept(kNoThrow<Sink>) {
  const auto next = w.q.operation().selecting.next_measured;
  std::uint32_t at = 0;
  for (Candidate found{}; next(w.q, *w.entry, at, found);) {
    if (w.offer(found.tier, found.instance, found.k_batch, found.table_m)) return true;
  }
  return false;
}

/// Offers every candidate in order until the sink ends the walk.
template <class Sink>
void walk(const Query& q, Sink& sink) noexcept(kNoThrow<Sink>) {
  Walk<Sink> w(q, sink);
  if (q.is_forced) return from_forced(w);
  if (q.overrides != nullptr && from_overrides(w)) return;
  w.entry = q.index.find(q.signature, q.arch);
  if (w.entry == nullptr) return;
  if (!q.is_gemm() && q.operation().selecting.next_measured != nullptr) [[unlikely]] {
    static_cast<void>(from_own_tables(w) || from_defaults(w));
    return;
  }
  w.find_tables();
  static_cast<void>(from_tables(w) || from_heuristics(w) || from_far(w) || from_other_cu(w) || from_defaults(w));
}

}  // namespace ckgen::inline v1::detail
