// The steps exact, near and far: tables that were measured at the problem's own CU count.
#pragma once

#include "src/select/walk_offer.hpp"

namespace ckgen::inline v1::detail {

template <class Sink>
bool offer_rung(const Walk<Sink>& w, const TableRef& ref, const Hit& hit) noexcept(kNoThrow<Sink>) {
  return w.offer(hit.tier, ref.instance_base + hit.choice.instance, hit.choice.k_batch, hit.m);
}

/// The user's instance for an external winner, where the user gave one. The kernel decides about K splits.
template <class Sink>
bool offer_provided(const Walk<Sink>& w, const TableRef& ref, const Hit& winner) noexcept(kNoThrow<Sink>) {
  const std::uint32_t instance = w.q.state.providers[ref.externals[winner.external_kernel()]];
  return instance != no_index && w.offer_foreign(winner.tier, instance, 0, winner.m);
}

/// What the policy's own roundings find, if it has any.
inline Hit aiter_hit_of(const WalkState& w, const LookupTable& table, const Group& group) noexcept {
  if (table.policy->kernel_m_count == 0) return {};
  return aiter_winner(own_ladder(group), external_ladder(group), table.policy->kernel_m, table.policy->kernel_m_count,
                      w.m(), static_cast<std::uint64_t>(w.q.sizes.n));
}

/// The table's winner if it is external; told to the sink.
template <class Sink>
Hit external_winner(const Walk<Sink>& w, const TableRef& ref, const Group& group,
                    const Hit& by_aiter) noexcept(kNoThrow<Sink>) {
  if (group.external_count == 0) return {};
  const LookupTable& table = *ref.table;
  const Hit winner =
      by_aiter ? by_aiter : table_winner(own_ladder(group), external_ladder(group), w.m(), gap_of(table));
  if (!winner.external) return {};
  w.sink.external(ref.externals[winner.external_kernel()], winner);
  return winner;
}

/// The peer takes k_batch from the row that a rounding of its own finds, if that row can run.
template <class Sink>
bool offer_as_aiter(const Walk<Sink>& w, const TableRef& ref, const Group& group,
                    const Hit& hit) noexcept(kNoThrow<Sink>) {
  const LookupTable& table = *ref.table;
  const Hit split = aiter_winner(own_ladder(group), external_ladder(group), table.policy->split_k_m,
                                 table.policy->split_k_m_count, w.m(), static_cast<std::uint64_t>(w.q.sizes.n));
  const std::uint32_t k_batch = split && !split.external ? split.choice.k_batch : hit.choice.k_batch;
  return w.offer(hit.tier, ref.instance_base + hit.choice.instance, k_batch, hit.m);
}

template <class Sink>
[[gnu::noinline]] bool from_aiter_policy(const Walk<Sink>& w, const TableRef& ref,
                                         const Group& group) noexcept(kNoThrow<Sink>) {
  const Hit by_aiter = aiter_hit_of(w, *ref.table, group);
  const Hit winner = external_winner(w, ref, group, by_aiter);
  if (winner && winner.tier != Tier::far_ && offer_provided(w, ref, winner)) return true;
  return by_aiter && !by_aiter.external && offer_as_aiter(w, ref, group, by_aiter);
}

/// exact and near.
template <class Sink>
bool from_tables(const Walk<Sink>& w) noexcept(kNoThrow<Sink>) {
  for (std::uint32_t i = w.own_begin; i < w.own_end; ++i) {
    const MeasuredGroup own = w.own_group(i);
    const Group* group = own.group;
    if (group == nullptr) continue;
    const TableRef& ref = *own.ref;
    const LookupTable& table = *ref.table;
    if (table.policy->kernel_m_count != 0) {
      if (from_aiter_policy(w, ref, *group)) return true;
      continue;
    }
    const Hit hit = rounded_up(own_ladder(*group), w.m(), gap_of(table));
    if (group->external_count != 0) {
      const Hit winner = external_winner(w, ref, *group, {});
      if (winner && winner.tier != Tier::far_ && offer_provided(w, ref, winner)) return true;
    }
    if (hit && offer_rung(w, ref, hit)) return true;
  }
  return false;
}

template <class Sink>
[[gnu::noinline]] bool from_far(const Walk<Sink>& w) noexcept(kNoThrow<Sink>) {
  for (std::uint32_t i = w.own_begin; i < w.own_end; ++i) {
    const MeasuredGroup own = w.own_group(i);
    const Group* group = own.group;
    if (group == nullptr) continue;
    const TableRef& ref = *own.ref;
    if (group->external_count != 0) {
      const Hit winner = external_winner(w, ref, *group, aiter_hit_of(w, *ref.table, *group));
      if (winner && winner.tier == Tier::far_ && offer_provided(w, ref, winner)) return true;
    }
    const FarHits hits = w.q.batch_invariant ? far_rungs_in_order(w, ref, *group)
                                             : far_rungs(own_ladder(*group), w.m(), gap_of(*ref.table));
    if (hits.first && offer_rung(w, ref, hits.first)) return true;
    if (hits.second && offer_rung(w, ref, hits.second)) return true;
  }
  return false;
}

}  // namespace ckgen::inline v1::detail
