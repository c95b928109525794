// Who is told of a walk's candidates, and what rejects them beside the query.
#pragma once

#include <utility>

#include "src/operation/candidate.hpp"
#include "src/select/caller_owns.hpp"
#include "src/select/walk_order.hpp"

namespace ckgen::inline v1::detail {

/// A sink that keeps a trail may run out of memory.
template <class Sink>
inline constexpr bool kNoThrow = noexcept(std::declval<Sink&>().offer(Candidate{}, Verdict{}));

/// The state, and who is told: `Sink` has `bool offer(const Candidate&, const Verdict&)`, true ending the walk,
/// `void external(std::uint32_t, const Hit&)` for the kernel of another library that is the table's winner, and
/// `wants_rejected`: whether it asks why defaults are rejected where others support the problem.
///
/// Steps are functions `bool from_…(const Walk<Sink>&)`, true where the sink ended the walk. Rare ones are kept out of
/// line: the measured path then stays small enough to inline.
template <class Sink>
struct Walk : WalkState {
  Sink& sink;

  Walk(const Query& query, Sink& told) noexcept : WalkState{query}, sink(told) {}

  bool offer(Tier tier, std::uint32_t index, std::uint32_t k_batch, std::uint64_t table_m) const
      noexcept(kNoThrow<Sink>) {
    const InstanceDesc& of = instance(index);
    Verdict verdict = q.verdict(of, k_batch);
    if ((of.backend == Backend::hip) | q.batch_invariant) [[unlikely]]
      verdict = rarely_otherwise(tier, of, k_batch, verdict);
    return sink.offer({tier, index, k_batch, table_m, q.cu_num}, verdict);
  }

  /// One test in offer() for both: it is the measured path.
  [[gnu::noinline]] Verdict rarely_otherwise(Tier tier, const InstanceDesc& of, std::uint32_t k_batch,
                                             Verdict verdict) const noexcept {
    if (of.backend == Backend::hip && tier != Tier::exact) verdict = verdict_unless_caller_owns(*this, of, verdict);
    return q.batch_invariant ? verdict_in_order(*this, of, k_batch, verdict) : verdict;
  }

  /// An instance that comes from outside the problem's own unit.
  bool offer_foreign(Tier tier, std::uint32_t index, std::uint32_t k_batch, std::uint64_t table_m) const
      noexcept(kNoThrow<Sink>) {
    Verdict verdict = q.foreign_verdict(instance(index), k_batch);
    if (q.batch_invariant) [[unlikely]]
      verdict = verdict_in_order(*this, instance(index), k_batch, verdict);
    return sink.offer({tier, index, k_batch, table_m, q.cu_num}, verdict);
  }
};

}  // namespace ckgen::inline v1::detail
