// What grouped GEMM and MoE add to supports.hpp: a problem of many sizes is legal, and an instance can run it, where
// that holds for each of them. The integers of codegen/ckgen/families/gemm/op_rules.py.
#pragma once

#include <algorithm>

#include <ckgen/problem.hpp>

#include "src/select/supports.hpp"

namespace ckgen::inline v1::detail {

constexpr Sizes sizes_of(const GroupSize& size) noexcept {
  return {size.m, size.n, size.k, 1};
}

constexpr std::int64_t GroupSize::* axis_of(ProblemSize size) noexcept {
  return size == ProblemSize::m ? &GroupSize::m : size == ProblemSize::n ? &GroupSize::n : &GroupSize::k;
}

/// The first size of a group that does something and is no multiple; of groups on the device the one that all have.
inline std::int64_t first_off(const Groups& groups, std::int64_t GroupSize::* axis, std::int64_t multiple) noexcept {
  for (std::int64_t i = 0; i < groups.count() && !groups.are_on_device(); ++i) {
    const GroupSize& size = groups.sizes()[i];
    if (size.m > 0 && size.n > 0 && size.*axis % multiple != 0) return size.*axis;
  }
  return groups.largest().*axis;
}

inline Verdict check_groups(const Signature& signature, const Groups* groups) noexcept {
  if (groups == nullptr) return broken(ProblemRule::grouped_no_groups, 0, 0);
  if (!groups->is_valid()) return broken(ProblemRule::grouped_sizes, 0, 0);
  if (const Verdict verdict = check(signature, sizes_of(groups->largest())); !verdict.ok()) return verdict;
  Verdict verdict = check(signature, sizes_of(groups->divisor()));  // only multiples can be missed here
  if (!verdict.ok())
    verdict.measured = first_off(*groups, axis_of(signature_rules[verdict.rule - 1].size), verdict.limit);
  return verdict;
}

inline Verdict check_routing(const Signature& signature, const Sizes& sizes, Routing routing) noexcept {
  constexpr std::int64_t most_slots = 255, most_tokens = (1 << 24) - 1;
  if (const Verdict verdict = check(signature, sizes); !verdict.ok()) return verdict;
  if (signature.moe.part == MoePart::layer) {  // what gate_up writes is what down reads
    const Verdict verdict = check(signature, {sizes.m, sizes.k, sizes.n, sizes.batch});
    if (!verdict.ok()) return verdict;
  }
  if (routing.experts < 1) return broken(ProblemRule::moe_experts, routing.experts, 1);
  if (routing.top_k < 1) return broken(ProblemRule::moe_top_k, routing.top_k, 1);
  const std::int64_t slots = std::min<std::int64_t>(routing.experts, most_slots);
  if (routing.top_k > slots) return broken(ProblemRule::moe_top_k_max, routing.top_k, slots);
  if (sizes.m > most_tokens) return broken(ProblemRule::moe_tokens_max, sizes.m, most_tokens);
  return {};
}

/// As supports(), for each group. Splits of K must be even in every group.
inline Verdict supports_groups(const Constraints& c, const Groups& groups, std::uint32_t k_batch,
                               bool deterministic) noexcept {
  const std::int64_t splits = k_batch == 0 ? 1 : k_batch;
  const GroupSize& divisor = groups.divisor();
  const auto off = [](std::int64_t size, std::int64_t multiple) { return multiple > 1 && size % multiple != 0; };
  if (off(divisor.m, c.m_multiple))
    return groups.are_on_device() ? broken(ProblemRule::grouped_m_unknown, groups.largest().m, c.m_multiple)
                                  : broken(ProblemRule::gemm_instance_m_multiple,
                                           first_off(groups, &GroupSize::m, c.m_multiple), c.m_multiple);
  if (off(divisor.n, c.n_multiple))
    return broken(ProblemRule::gemm_instance_n_multiple, first_off(groups, &GroupSize::n, c.n_multiple), c.n_multiple);
  if (off(divisor.k, c.k_multiple))
    return broken(ProblemRule::gemm_instance_k_multiple, first_off(groups, &GroupSize::k, c.k_multiple), c.k_multiple);
  if (c.max_m != 0 && groups.largest().m > c.max_m)
    return broken(ProblemRule::gemm_instance_max_m, groups.largest().m, c.max_m);
  const std::int64_t ab = std::max(groups.largest_a(), groups.largest_b());
  if (c.max_ab != 0 && ab > c.max_ab) return broken(ProblemRule::gemm_instance_matrix_size, ab, c.max_ab);
  if (c.max_c != 0 && groups.largest_c() > c.max_c)
    return broken(ProblemRule::gemm_instance_matrix_size, groups.largest_c(), c.max_c);
  if (splits > c.max_k_batch) return broken(ProblemRule::gemm_instance_max_k_batch, splits, c.max_k_batch);
  if (splits > 1) {
    if (c.atomic_split && deterministic) return broken(ProblemRule::gemm_instance_atomic_split, splits, 1);
    const std::int64_t whole = splits * std::max(c.k_multiple_per_split, c.split_grain);
    if (off(divisor.k, whole))
      return broken(ProblemRule::gemm_instance_split_multiple, first_off(groups, &GroupSize::k, whole), whole);
  }
  const std::int64_t split_k = groups.smallest().k / splits;
  if (split_k < c.min_k) return broken(ProblemRule::gemm_instance_min_k, split_k, c.min_k);
  return {};
}

/// What RoutedConstraints ask of sizes that Constraints take.
inline Verdict supports_routed(const RoutedConstraints& c, const Sizes& sizes, std::int64_t experts,
                               bool gated) noexcept {
  if (sizes.n < c.min_n) return broken(ProblemRule::moe_n_min, sizes.n, c.min_n);
  if (c.max_n != 0 && sizes.n > c.max_n) return broken(ProblemRule::moe_n_max, sizes.n, c.max_n);
  if (c.max_k != 0 && sizes.k > c.max_k) return broken(ProblemRule::moe_k_max, sizes.k, c.max_k);
  if (experts < c.few_experts && sizes.m > c.max_m_few)
    return broken(ProblemRule::moe_few_experts, sizes.m, c.max_m_few);
  const std::int64_t weights = c.max_weights != 0 ? experts * (gated ? 2 : 1) * sizes.n * sizes.k : 0;
  return weights > c.max_weights ? broken(ProblemRule::moe_weights, weights, c.max_weights) : Verdict{};
}

/// As supports(), and what the routing asks.
inline Verdict supports_routing(const InstanceDesc& instance, const Sizes& sizes, const Problem& problem,
                                std::uint32_t k_batch) noexcept {
  const Constraints& c = instance.constraints;
  const MoeTraits& moe = instance.signature.moe;
  if (const Verdict verdict = supports(c, sizes, k_batch, problem.deterministic()); !verdict.ok()) return verdict;
  const Verdict routed = supports_routed(c.routed, sizes, problem.routing().experts, moe.gated);
  if (!routed.ok()) return routed;
  const std::int64_t slots = sizes.m * problem.routing().top_k;  // rows of A of down, of C of gate_up
  if (c.max_ab != 0 && moe.part == MoePart::down && slots * sizes.k > c.max_ab)
    return broken(ProblemRule::gemm_instance_matrix_size, slots * sizes.k, c.max_ab);
  if (c.max_c != 0 && moe.part == MoePart::gate_up && slots * sizes.n > c.max_c)
    return broken(ProblemRule::gemm_instance_matrix_size, slots * sizes.n, c.max_c);
  const std::int32_t own = instance.macro_tile.m;
  if (problem.block_m() != 0 && problem.block_m() != own)
    return broken(ProblemRule::moe_block_m, problem.block_m(), own);
  if (problem.block_m() == 0 && c.routed.presorted) return broken(ProblemRule::moe_presorted, 0, own);
  if (sorted_capacity(sizes.m, problem.routing(), own) < 0) return broken(ProblemRule::moe_sorted_rows, slots, own);
  if (problem.deterministic() && c.atomic_split && moe.part != MoePart::gate_up)
    return broken(ProblemRule::moe_atomic, problem.routing().top_k, 1);
  return {};
}

/// The batch of GEMMs that costs what the problem does, as if the groups were alike and the experts evenly busy.
inline Sizes alike(const Problem& problem) noexcept {
  const auto shared = [](std::int64_t rows, std::int64_t among) { return rows / among + (rows % among != 0 ? 1 : 0); };
  if (const Groups* groups = problem.groups()) {
    const std::int64_t busy = std::max<std::int64_t>(groups->busy(), 1);
    return {shared(groups->rows(), busy), problem.n(), problem.k(), busy};
  }
  const std::int64_t rows = problem.m() * problem.routing().top_k;
  const std::int64_t busy = std::max<std::int64_t>(std::min<std::int64_t>(rows, problem.routing().experts), 1);
  return {shared(rows, busy), problem.n() * (problem.signature().moe.gated ? 2 : 1), problem.k(), busy};
}

}  // namespace ckgen::inline v1::detail
