// What grouped GEMM adds to gemm/supports.hpp: a problem of many sizes is legal, and an instance can run it, where that
// holds for each of them. The integers of codegen/ckgen/families/gemm/op_rules.py.
#pragma once

#include <algorithm>

#include <ckgen/problem.hpp>

#include "src/gemm/supports.hpp"

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

/// As supports(), for each group. Splits of K must be even in every group.
inline Verdict supports_groups(const Constraints& c, const Groups& groups, std::uint32_t k_batch,
                               bool deterministic) noexcept {
  const std::int64_t splits = k_batch == 0 ? 1 : k_batch;
  const GroupSize& divisor = groups.divisor();
  const auto off = [](std::int64_t size, std::int64_t multiple) { return multiple > 1 && size % multiple != 0; };
  if (groups.smallest().m < c.min_m) return broken(ProblemRule::gemm_instance_min_m, groups.smallest().m, c.min_m);
  if (c.max_m != 0 && groups.largest().m > c.max_m)
    return broken(ProblemRule::gemm_instance_max_m, groups.largest().m, c.max_m);
  const std::int64_t ab = std::max(groups.largest_a(), groups.largest_b());
  if (c.max_ab != 0 && ab > c.max_ab) return broken(ProblemRule::gemm_instance_matrix_size, ab, c.max_ab);
  if (c.max_c != 0 && groups.largest_c() > c.max_c)
    return broken(ProblemRule::gemm_instance_matrix_size, groups.largest_c(), c.max_c);
  if (off(divisor.m, c.m_multiple))
    return groups.are_on_device() ? broken(ProblemRule::grouped_m_unknown, groups.largest().m, c.m_multiple)
                                  : broken(ProblemRule::gemm_instance_m_multiple,
                                           first_off(groups, &GroupSize::m, c.m_multiple), c.m_multiple);
  if (off(divisor.n, c.n_multiple))
    return broken(ProblemRule::gemm_instance_n_multiple, first_off(groups, &GroupSize::n, c.n_multiple), c.n_multiple);
  if (off(divisor.k, c.k_multiple))
    return broken(ProblemRule::gemm_instance_k_multiple, first_off(groups, &GroupSize::k, c.k_multiple), c.k_multiple);
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

/// The batch of GEMMs that costs what the groups do, as if they were alike.
inline Sizes alike(const Groups& groups) noexcept {
  const std::int64_t busy = std::max<std::int64_t>(groups.busy(), 1);
  const std::int64_t rows = groups.rows() / busy + (groups.rows() % busy != 0 ? 1 : 0);
  return {rows, groups.largest().n, groups.largest().k, busy};
}

}  // namespace ckgen::inline v1::detail
