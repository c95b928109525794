// Which of the rules that instances said is told: that of the instance that the problem is nearest to.
#pragma once

#include <algorithm>

#include <ckgen/problem_rules.hpp>

#include "src/operation/cost.hpp"
#include "src/operation/verdict.hpp"

namespace ckgen::inline v1::detail {

/// By how much the number must change that broke the rule. Rules whose limit is a multiple have one `near`.
inline Wide change_of(const Verdict& verdict) noexcept {
  constexpr std::uint8_t multiple = problem_rules[static_cast<int>(ProblemRule::gemm_instance_m_multiple)].near;
  if (problem_rules[verdict.rule].near == multiple && verdict.limit > 0)
    return static_cast<std::uint64_t>(verdict.limit - verdict.measured % verdict.limit);
  const auto measured = static_cast<std::uint64_t>(verdict.measured), limit = static_cast<std::uint64_t>(verdict.limit);
  return verdict.measured > verdict.limit ? measured - limit : limit - measured;
}

/// Whether a rejection is a better reason than the one before it: its instance is nearer to the problem. Nearer is who
/// says a rule of a larger `near` (schema/ops.yaml), and of equal ones whose rule asks for the lesser change in
/// proportion.
[[gnu::noinline]] inline bool outweighs(const Verdict& verdict, const Verdict& before) noexcept {
  if (verdict.ok() || before.ok() || before.rule == no_instance().rule) return true;
  const std::uint8_t near = problem_rules[verdict.rule].near, known = problem_rules[before.rule].near;
  if (near != known) return near > known;
  const auto size = [](const Verdict& of) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(of.measured, 1));
  };
  return change_of(verdict) * size(before) < change_of(before) * size(verdict);
}

}  // namespace ckgen::inline v1::detail
