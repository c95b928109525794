// The walk of docs/selection.md, once, for everyone who follows it: select, next, explain.
#pragma once

#include "src/select/walk_defaults.hpp"
#include "src/select/walk_heuristics.hpp"
#include "src/select/walk_offer.hpp"
#include "src/select/walk_other_cu.hpp"
#include "src/select/walk_own_cu.hpp"
#include "src/select/walk_predicted.hpp"

namespace ckgen::inline v1::detail {

template <class Sink>
void from_forced(const Walk<Sink>& w) noexcept(kNoThrow<Sink>) {
  const Query& q = w.q;
  if (q.forced == no_index) return;
  const InstanceDesc& instance = w.instance(q.forced);
  if (q.batch_invariant) {  // whatever M is, this one answers
    Walk<Sink> own = w;
    own.order = order_of(instance, 1);
    own.offer_foreign(Tier::forced, q.forced, 1, 0);
    return;
  }
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

template <class Sink>
bool offer_loaded(const Walk<Sink>& w, const LoadedHit& hit) noexcept(kNoThrow<Sink>) {
  const auto splits = w.q.operation().selecting.measured_splits;
  const std::uint32_t k_batch =
      splits != nullptr ? splits(w.q, w.instance(hit.row->instance), hit.row->k_batch) : hit.row->k_batch;
  return w.offer(hit.tier, hit.row->instance, k_batch, hit.table_m);
}

/// Whether a compiled row was measured at exactly the problem's sizes.
template <class Sink>
bool is_compiled_exactly(const Walk<Sink>& w) noexcept {
  if (w.entry == nullptr) return false;
  if (const auto next = w.q.operation().selecting.next_measured) {
    std::uint32_t at = 0;
    for (Candidate found{}; next(w.q, *w.entry, at, found);) {
      if (found.tier == Tier::exact) return true;
    }
    return false;
  }
  for (std::uint32_t i = w.own_begin; i < w.own_end; ++i) {
    const auto& [ref, group] = w.own_group(i);
    if (group != nullptr && rounded_up(own_ladder(*group), w.m(), gap_of(*ref->table)).tier == Tier::exact) return true;
  }
  return false;
}

/// Behind tables, at the sizes and near them.
template <class Sink>
bool from_the_rest(const Walk<Sink>& w) noexcept(kNoThrow<Sink>) {
  return from_heuristics(w) || from_predicted(w) || from_far(w) || from_other_cu(w) || from_defaults(w);
}

/// Behind forced and override. A loaded row comes before compiled ones of its tier.
template <class Sink>
void walk_tables(Walk<Sink>& w, const LoadedHit& loaded) noexcept(kNoThrow<Sink>) {
  const bool has_entry = w.entry != nullptr;
  const bool own_tables = w.q.operation().selecting.next_measured != nullptr;
  const bool first = loaded && (loaded.tier == Tier::exact || !is_compiled_exactly(w));
  if (first && offer_loaded(w, loaded)) return;
  if (has_entry && (own_tables ? from_own_tables(w) : from_tables(w))) return;
  if (loaded && !first && offer_loaded(w, loaded)) return;
  if (!has_entry) return;
  static_cast<void>(own_tables ? from_defaults(w) : from_the_rest(w));
}

/// Only a loaded row makes the walk take this way: the measured path stays small.
template <class Sink>
[[gnu::noinline]] bool took_loaded(Walk<Sink>& w) noexcept(kNoThrow<Sink>) {
  const LoadedHit loaded = w.q.tables->find(w.q);
  if (!loaded) return false;
  if (w.entry != nullptr) w.find_tables();
  walk_tables(w, loaded);
  return true;
}

/// Offers every candidate in order until the sink ends the walk.
template <class Sink>
void walk(const Query& q, Sink& sink) noexcept(kNoThrow<Sink>) {
  Walk<Sink> w(q, sink);
  if (q.is_forced) return from_forced(w);
  w.entry = q.index.find(q.signature, q.arch);
  if (q.batch_invariant) [[unlikely]] {
    if (w.entry != nullptr) w.find_tables();
    find_order(w);
  }
  if (q.overrides != nullptr && from_overrides(w)) return;
  if (q.tables != nullptr && took_loaded(w)) [[unlikely]]
    return;
  if (w.entry == nullptr) return;
  if (!q.is_gemm() && q.operation().selecting.next_measured != nullptr) [[unlikely]] {
    const bool has_rows = w.entry->own_table_begin != w.entry->own_table_end;
    static_cast<void>((has_rows && from_own_tables(w)) || from_defaults(w));
    return;
  }
  w.find_tables();
  static_cast<void>(from_tables(w) || from_the_rest(w));
}

}  // namespace ckgen::inline v1::detail
