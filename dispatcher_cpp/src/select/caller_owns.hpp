// Rows that leave their work to the caller's own kernel: instances of ckgen's own that no row names are not for it.
#pragma once

#include <string_view>

#include "src/select/walk_state.hpp"

namespace ckgen::inline v1::detail {

/// Whether a row of exactly this M does.
inline bool caller_owns_row(const WalkState& w) noexcept {
  for (std::uint32_t i = w.own_begin; i < w.own_end; ++i) {
    const LookupTable& table = *w.q.index.table(i).table;
    const Group* group = w.group_of(table);
    if (group == nullptr) continue;
    const Hit hit = rounded_up(external_ladder(*group), w.m(), gap_of(table));
    if (hit && hit.tier == Tier::exact &&
        std::string_view(table.externals[hit.external_kernel()].library) == callers_own)
      return true;
  }
  return false;
}

/// The verdict, but no for a kernel of ckgen's own where a row leaves its work to the caller's.
[[gnu::noinline]] inline Verdict verdict_unless_caller_owns(const WalkState& w, const InstanceDesc& instance,
                                                            const Verdict& verdict) noexcept {
  if (!verdict.ok() || instance.backend != Backend::hip) return verdict;
  if (!w.q.is_gemm()) {
    if (const auto declined = w.q.operation().selecting.declined) return declined(w.q, instance);
  }
  return caller_owns_row(w) ? broken(ProblemRule::gemm_instance_declined, w.q.sizes.m, 0) : verdict;
}

}  // namespace ckgen::inline v1::detail
