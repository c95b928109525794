// A rule that a problem or an instance breaks, and the sizes that rules look at.
#pragma once

#include <cstdint>
#include <type_traits>

#include <ckgen/problem_rules.hpp>

namespace ckgen::inline v1::detail {

/// A rule that was broken, with the numbers of its message; rule 0 means that none was.
struct Verdict {
  std::uint16_t rule = 0;
  std::int64_t measured = 0;
  std::int64_t limit = 0;

  bool ok() const noexcept { return rule == 0; }
};

/// Whether no rule was broken, without the numbers: for many instances of which one is taken. Rules that are templates
/// over their answer give either.
struct Fits {
  bool fits = true;

  bool ok() const noexcept { return fits; }
};

/// The sizes as table keys and rules see them: batch is 0 where the signature is not batched and the caller said 1.
struct Sizes {
  std::int64_t m, n, k, batch;
};

inline Verdict broken(ProblemRule rule, std::int64_t measured, std::int64_t limit) noexcept {
  return {static_cast<std::uint16_t>(rule), measured, limit};
}

template <class Answer>
Answer broken_as(ProblemRule rule, std::int64_t measured, std::int64_t limit) noexcept {
  if constexpr (std::is_same_v<Answer, Fits>)
    return {false};
  else
    return broken(rule, measured, limit);
}

inline Verdict no_instance() noexcept {
  return broken(ProblemRule::gemm_no_instance, 0, 0);
}

}  // namespace ckgen::inline v1::detail
