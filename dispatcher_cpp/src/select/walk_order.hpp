// Batch invariance (docs/batch_invariance.md): the one order of additions in which all M of an N and K are answered.
#pragma once

#include "src/select/walk_state.hpp"

namespace ckgen::inline v1::detail {

/// The M that a default's cost is counted at where no ladder says the order: codegen/ckgen/families/common/order.py.
inline constexpr std::int64_t kOrderM = 128;

/// The order of an instance in so many splits. A k_batch of 0 is the kernel's own affair: none is known. Atomic parts
/// have one up to two.
inline Order order_of(const InstanceDesc& instance, std::uint32_t k_batch) noexcept {
  if (k_batch == 0 || (k_batch > 2 && instance.constraints.atomic_split)) return {};
  return {k_batch == 1 ? instance.order.whole : instance.order.split, k_batch};
}

inline Order order_of(const WalkState& w, const TableRef& ref, const Choice& choice) noexcept {
  return order_of(w.instance(ref.instance_base + choice.instance), choice.k_batch);
}

/// That of the ladder of the device's own tables, if they have one for N and K.
inline Order order_of_ladder(const WalkState& w) noexcept {
  for (std::uint32_t i = w.own_begin; i < w.own_end; ++i) {
    const auto& [ref, group] = w.own_group(i);
    if (group == nullptr || group->rung_count == 0) continue;
    const Choice& choice = group->order.instance == no_choice ? group->rungs[0].choice : group->order;
    if (const Order found = order_of(w, *ref, choice); found.number != 0) return found;
  }
  return {};
}

/// That of the default which costs least at kOrderM, of those that take every M; what M makes a matrix too large for is
/// not looked at. Where an operation's costs know no M, of the first such default.
inline Order order_of_defaults(const WalkState& w) noexcept {
  const Sizes cost = w.q.cost_sizes();
  const Sizes sizes{kOrderM, cost.n, cost.k, w.q.signature.batched ? cost.batch : 1};
  const auto takes_every_batch = w.q.operation().selecting.takes_every_batch;
  Order best;
  Wide least = 0;
  for (std::uint32_t i = w.entry->default_begin; i < w.entry->default_end; ++i) {
    InstanceDesc instance = w.instance(w.q.index.default_instance(i));
    const Order own = order_of(instance, 1);
    if (own.number == 0 || !takes_every_batch(instance)) continue;
    instance.constraints.max_ab = instance.constraints.max_c = 0;
    if (!w.q.verdict(instance, 1).ok()) continue;
    if (!w.q.operation().selecting.costs_sizes) return own;
    const Wide found = w.q.cost(instance, sizes).cost;
    if (best.number == 0 || found < least) {
      best = own;
      least = found;
    }
  }
  return best;
}

/// Finds it; behind find_tables().
inline void find_order(WalkState& w) noexcept {
  if (w.entry == nullptr) return;
  w.order = order_of_ladder(w);
  if (w.order.number == 0) w.order = order_of_defaults(w);
}

/// The verdict, but no for another order.
[[gnu::noinline]] inline Verdict verdict_in_order(const WalkState& w, const InstanceDesc& instance,
                                                  std::uint32_t k_batch, const Verdict& verdict) noexcept {
  if (!verdict.ok()) return verdict;
  const Order own = order_of(instance, k_batch);
  if (own.number == 0) return broken(ProblemRule::gemm_instance_no_order, k_batch, 0);
  if (w.order.number == 0) return broken(ProblemRule::gemm_instance_no_class, w.q.sizes.n, w.q.sizes.k);
  if (own.k_batch != w.order.k_batch)
    return broken(ProblemRule::gemm_instance_order_splits, own.k_batch, w.order.k_batch);
  if (own.number != w.order.number) return broken(ProblemRule::gemm_instance_order, own.number, w.order.number);
  return verdict;
}

/// The rungs of the order next to m, whatever stands between, the nearer in ratio first.
inline FarHits far_rungs_in_order(const WalkState& w, const TableRef& ref, const Group& group) noexcept {
  Hit above, below;
  const std::uint64_t m = w.m();
  for (std::uint32_t i = 0; i < group.rung_count; ++i) {
    const Rung& rung = group.rungs[i];
    if (order_of(w, ref, rung.choice) != w.order) continue;
    if (rung.last >= m && !above) above = {measured_at_or_above(rung, m), rung.choice, Tier::far_, false};
    if (rung.first >= m) break;
    const std::uint64_t most = rung.last < m ? rung.last : m - 1;
    below = {rung.first + ((most - rung.first) & ~(std::uint64_t{rung.step} - 1)), rung.choice, Tier::far_, false};
  }
  return in_ratio_order(above, below, m);
}

}  // namespace ckgen::inline v1::detail
