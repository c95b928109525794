// The walk of docs/selection.md, once, for everyone who follows it: select, next, explain.
#pragma once

#include "src/fmha/walk.hpp"
#include "src/select/walk_defaults.hpp"
#include "src/select/walk_heuristics.hpp"
#include "src/select/walk_other_cu.hpp"
#include "src/select/walk_own_cu.hpp"
#include "src/select/walk_state.hpp"

namespace ckgen::inline v1::detail {

template <class Sink>
void from_forced(const Walk<Sink>& w) noexcept(kNoThrow<Sink>) {
  const std::uint32_t index = w.q.forced;
  if (index != no_index) w.offer_foreign(Tier::forced, index, splits_of(w.q, w.instance(index)), 0);
}

template <class Sink>
[[gnu::noinline]] bool from_overrides(const Walk<Sink>& w) noexcept(kNoThrow<Sink>) {
  const Query& q = w.q;
  const Override* row = q.overrides->find(q.signature, q.arch, q.cu_num, q.key_batch(), q.sizes, q.problem.fmha());
  return row != nullptr && w.offer_foreign(Tier::override_, row->instance, row->k_batch, 0);
}

/// Offers every candidate in order until the sink ends the walk.
template <class Sink>
void walk(const Query& q, Sink& sink) noexcept(kNoThrow<Sink>) {
  Walk<Sink> w(q, sink);
  if (q.is_forced) return from_forced(w);
  if (q.overrides != nullptr && from_overrides(w)) return;
  w.entry = q.index.find(q.signature, q.arch);
  if (w.entry == nullptr) return;
  if (q.signature.op == Op::fmha) [[unlikely]] {
    static_cast<void>(from_fmha_tables(w) || from_defaults(w));
    return;
  }
  w.find_tables();
  static_cast<void>(from_tables(w) || from_heuristics(w) || from_far(w) || from_other_cu(w) || from_defaults(w));
}

}  // namespace ckgen::inline v1::detail
