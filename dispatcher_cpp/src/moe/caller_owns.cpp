#include "src/moe/caller_owns.hpp"

#include <string_view>

#include <ckgen/lookup.hpp>

#include "src/registry/index.hpp"

namespace ckgen::inline v1::detail {
namespace {

/// By the row of a product's rows of B and K, whatever M and the routing: it is of batch 0, as no routing is.
Verdict product_verdict(const Request& q, const Signature& signature, std::int64_t n, std::int64_t k) noexcept {
  const std::int64_t rows = n * (signature.moe.gated ? 2 : 1);
  const Entry* entry = q.index.find(signature, q.arch);
  if (entry == nullptr) return {};
  for (std::uint32_t i = entry->table_begin; i < entry->table_end; ++i) {
    if (q.index.table(i).cu_num != q.cu_num) continue;
    const auto& [ref, group] =
        q.index.group(i, q.product, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(k), 0);
    if (group == nullptr || group->external_count == 0) continue;
    const ExternalKernel& kernel = ref->table->externals[group->external_rungs->choice.instance];
    if (std::string_view(kernel.library) == callers_own) return broken(ProblemRule::moe_declined, rows, k);
  }
  return {};
}

}  // namespace

Verdict products_verdict(const Request& q, const InstanceDesc& instance) noexcept {
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

}  // namespace ckgen::inline v1::detail
