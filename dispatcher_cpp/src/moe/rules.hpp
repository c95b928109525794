// What MoE adds to gemm/supports.hpp. The integers of codegen/ckgen/families/moe/problem_rules.py.
#pragma once

#include <algorithm>

#include <ckgen/problem.hpp>

#include "src/gemm/supports.hpp"

namespace ckgen::inline v1::detail {
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

/// What RoutedConstraints ask of sizes that Constraints take.
inline Verdict supports_routed(const RoutedConstraints& c, const Sizes& sizes, Routing routing, bool gated) noexcept {
  if (sizes.n < c.min_n) return broken(ProblemRule::moe_n_min, sizes.n, c.min_n);
  if (c.max_n != 0 && sizes.n > c.max_n) return broken(ProblemRule::moe_n_max, sizes.n, c.max_n);
  if (c.max_k != 0 && sizes.k > c.max_k) return broken(ProblemRule::moe_k_max, sizes.k, c.max_k);
  const std::int64_t experts = routing.experts, routed = sizes.m * routing.top_k;
  if (c.max_routed != 0 && routed > c.max_routed) return broken(ProblemRule::moe_routed_max, routed, c.max_routed);
  if (experts < c.few_experts && routed > c.max_routed_few)
    return broken(ProblemRule::moe_few_experts, routed, c.max_routed_few);
  const std::int64_t weights = c.max_weights != 0 ? experts * (gated ? 2 : 1) * sizes.n * sizes.k : 0;
  return weights > c.max_weights ? broken(ProblemRule::moe_weights, weights, c.max_weights) : Verdict{};
}

/// As supports(), and what the routing asks.
inline Verdict supports_routing(const InstanceDesc& instance, const Sizes& sizes, const Problem& problem,
                                std::uint32_t k_batch) noexcept {
  const Constraints& c = instance.constraints;
  const MoeTraits& moe = instance.signature.moe;
  if (const Verdict verdict = supports(c, sizes, k_batch, problem.deterministic()); !verdict.ok()) return verdict;
  const Verdict routed = supports_routed(c.routed, sizes, problem.routing(), moe.gated);
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

/// The batch of GEMMs that costs what the problem does, as if the experts were evenly busy.
inline Sizes evenly_busy(const Problem& problem) noexcept {
  const std::int64_t rows = problem.m() * problem.routing().top_k;
  const std::int64_t busy = std::max<std::int64_t>(std::min<std::int64_t>(rows, problem.routing().experts), 1);
  const std::int64_t share = rows / busy + (rows % busy != 0 ? 1 : 0);
  return {share, problem.n() * (problem.signature().moe.gated ? 2 : 1), problem.k(), busy};
}

}  // namespace ckgen::inline v1::detail
