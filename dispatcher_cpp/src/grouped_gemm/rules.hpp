// What grouped GEMM adds to gemm/supports.hpp: a problem of many sizes is legal, and an instance can run it, where that
// holds for each of them. The integers of codegen/ckgen/families/grouped_gemm/problem_rules.py.
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

/// What Constraints look at, of groups: they hold for each. Splits of K must be even in every group.
class AllGroups {
 public:
  explicit AllGroups(const Groups& groups) noexcept : groups_(groups) {}

  std::int64_t least_m() const noexcept { return groups_.smallest().m; }
  std::int64_t most_m() const noexcept { return groups_.largest().m; }
  std::int64_t most_ab() const noexcept { return std::max(groups_.largest_a(), groups_.largest_b()); }
  std::int64_t most_c() const noexcept { return groups_.largest_c(); }

  template <ProblemSize Axis>
  bool is_off(std::int64_t multiple) const noexcept {
    return multiple > 1 && groups_.divisor().*axis_of(Axis) % multiple != 0;
  }
  template <ProblemSize Axis>
  Verdict off(ProblemRule rule, std::int64_t multiple) const noexcept {
    if (Axis == ProblemSize::m && groups_.are_on_device())
      return broken(ProblemRule::grouped_m_unknown, groups_.largest().m, multiple);
    return broken(rule, first_off(groups_, axis_of(Axis), multiple), multiple);
  }

  Verdict uneven(const Constraints& c, std::int64_t splits) const noexcept {
    const std::int64_t whole = splits * std::max(c.k_multiple_per_split, c.split_grain);
    if (!is_off<ProblemSize::k>(whole)) return {};
    return off<ProblemSize::k>(ProblemRule::gemm_instance_split_multiple, whole);
  }
  std::int64_t split_k(const Constraints&, std::int64_t splits) const noexcept { return groups_.smallest().k / splits; }

 private:
  const Groups& groups_;
};

/// The batch of GEMMs that costs what the groups do, as if they were alike.
inline Sizes alike(const Groups& groups) noexcept {
  const std::int64_t busy = std::max<std::int64_t>(groups.busy(), 1);
  const std::int64_t rows = groups.rows() / busy + (groups.rows() % busy != 0 ? 1 : 0);
  return {rows, groups.largest().n, groups.largest().k, busy};
}

}  // namespace ckgen::inline v1::detail
