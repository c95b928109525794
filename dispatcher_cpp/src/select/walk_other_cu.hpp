// The step other_cu: tables of the same signature and arch at other CU counts.
#pragma once

#include "src/gemm/tiling.hpp"
#include "src/select/walk_offer.hpp"

namespace ckgen::inline v1::detail {

/// The tile with k_batch recomputed, halved until the instance supports it.
template <class Sink>
bool offer_other_rung(const Walk<Sink>& w, const TableRef& ref, const Hit& hit) noexcept(kNoThrow<Sink>) {
  const std::uint32_t index = ref.instance_base + hit.choice.instance;
  const InstanceDesc& instance = w.instance(index);
  if (w.q.batch_invariant) {  // splits that M decides have no one order
    const Verdict verdict = verdict_unless_caller_owns(w, instance, w.q.verdict(instance, w.order.k_batch));
    return w.sink.offer({Tier::other_cu, index, w.order.k_batch, hit.m, ref.cu_num},
                        verdict_in_order(w, instance, w.order.k_batch, verdict));
  }
  std::uint32_t k_batch = recomputed_k_batch(instance, w.q.cost_sizes(), w.q.cu_num);
  const auto verdict_in = [&](std::uint32_t splits) {
    return verdict_unless_caller_owns(w, instance, w.q.verdict(instance, splits));
  };
  Verdict verdict = verdict_in(k_batch);
  for (; !verdict.ok() && k_batch > 1; verdict = verdict_in(k_batch)) k_batch /= 2;
  return w.sink.offer({Tier::other_cu, index, k_batch, hit.m, ref.cu_num}, verdict);
}

template <class Sink>
bool from_other(const Walk<Sink>& w, const TableRef& ref) noexcept(kNoThrow<Sink>) {
  const Group* group = w.group_of(*ref.table);
  if (group == nullptr) return false;
  const Ladder ladder = own_ladder(*group);
  const NearGap gap = gap_of(*ref.table);
  const Hit up = rounded_up(ladder, w.m(), gap);
  const FarHits far = far_rungs(ladder, w.m(), gap);
  for (const Hit& hit : {up, far.first, far.second}) {
    if (hit && offer_other_rung(w, ref, hit)) return true;
  }
  return false;
}

/// The nearest count first, of two as near the larger.
template <class Sink>
[[gnu::noinline]] bool from_other_cu(const Walk<Sink>& w) noexcept(kNoThrow<Sink>) {
  std::uint32_t low = w.own_begin;
  std::uint32_t high = w.own_end;
  while (low > w.entry->table_begin || high < w.entry->table_end) {
    const bool any_low = low > w.entry->table_begin;
    const bool any_high = high < w.entry->table_end;
    const std::uint32_t down = any_low ? w.q.cu_num - w.q.index.table(low - 1).cu_num : 0;
    const std::uint32_t up = any_high ? w.q.index.table(high).cu_num - w.q.cu_num : 0;
    const bool take_high = any_high && (!any_low || up <= down);
    if (from_other(w, w.q.index.table(take_high ? high++ : --low))) return true;
  }
  return false;
}

}  // namespace ckgen::inline v1::detail
