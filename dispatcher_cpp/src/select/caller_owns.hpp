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

/// By the row of a product's rows of B and K, whatever M and the routing: it is of batch 0, as no routing is.
inline Verdict product_verdict(const Query& q, const Signature& signature, std::int64_t n, std::int64_t k) noexcept {
  const std::int64_t rows = n * (signature.moe.gated ? 2 : 1);
  const Entry* entry = q.index.find(signature, q.arch);
  if (entry == nullptr) return {};
  for (std::uint32_t i = entry->table_begin; i < entry->table_end; ++i) {
    const LookupTable& table = *q.index.table(i).table;
    if (table.cu_num != q.cu_num) continue;
    const Group* group = find_group(table, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(k), 0);
    if (group == nullptr || group->external_count == 0) continue;
    const ExternalKernel& kernel = table.externals[group->external_rungs->choice.instance];
    if (std::string_view(kernel.library) == callers_own) return broken(ProblemRule::moe_declined, rows, k);
  }
  return {};
}

/// Of experts: by the rows of the instance's product; of a layer by those of either one.
[[gnu::noinline]] inline Verdict products_verdict(const Query& q, const InstanceDesc& instance) noexcept {
  const Sizes& s = q.sizes;
  if (instance.parts[0] == 0) return product_verdict(q, instance.signature, s.n, s.k);
  for (const std::uint64_t id : instance.parts) {
    const auto found = q.state.by_id.find(id);
    if (found == q.state.by_id.end()) continue;
    const Signature& part = q.state.instances[found->second]->signature;
    const bool down = part.moe.part == MoePart::down;
    const Verdict verdict = product_verdict(q, part, down ? s.k : s.n, down ? s.n : s.k);
    if (!verdict.ok()) return verdict;
  }
  return {};
}

/// The query's verdict, but no for a kernel of ckgen's own where a row leaves its work to the caller's.
inline Verdict verdict_unless_caller_owns(const WalkState& w, const InstanceDesc& instance,
                                          std::uint32_t k_batch) noexcept {
  const Verdict verdict = w.q.verdict(instance, k_batch);
  if (!verdict.ok() || instance.backend != Backend::hip) return verdict;
  if (w.q.signature.op == Op::moe) return products_verdict(w.q, instance);
  return caller_owns_row(w) ? broken(ProblemRule::gemm_instance_declined, w.q.sizes.m, 0) : verdict;
}

}  // namespace ckgen::inline v1::detail
