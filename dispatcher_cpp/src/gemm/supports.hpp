// Is a problem legal, and can an instance run it? The integers of problem_rules.hpp and Constraints, as in Python.
#pragma once

#include <bit>
#include <cstdint>
#include <iterator>
#include <utility>

#include <ckgen/instance.hpp>
#include <ckgen/problem_rules.hpp>

#include "src/operation/verdict.hpp"

namespace ckgen::inline v1::detail {

template <std::size_t I>
inline bool breaks(const Signature& signature, const Sizes& sizes, Verdict& verdict) noexcept {
  constexpr SignatureRule rule = signature_rules[I];
  if (rule.batched >= 0 && signature.batched != (rule.batched != 0)) return false;
  if (rule.preshuffle_b >= 0 && signature.preshuffle_b != (rule.preshuffle_b != 0)) return false;
  if (rule.b >= 0 && static_cast<int>(signature.b) != rule.b) return false;
  if (rule.quant >= 0 && static_cast<int>(signature.quant) != rule.quant) return false;
  const std::int64_t size = rule.size == ProblemSize::m   ? sizes.m
                            : rule.size == ProblemSize::n ? sizes.n
                            : rule.size == ProblemSize::k ? sizes.k
                                                          : sizes.batch;
  std::int64_t limit = rule.value;
  if constexpr (rule.test == ProblemTest::multiple_of_scale_k) {
    limit = rule.value * signature.scale_block.k;
    if (limit == 0) return false;
  }
  if constexpr (rule.test == ProblemTest::multiple_of_bits) {
    const int width = bits(signature.b);
    if (width == 0) return false;
    limit = rule.value >> std::countr_zero(static_cast<unsigned>(width));
  }
  constexpr bool is_multiple = rule.test != ProblemTest::at_least && rule.test != ProblemTest::at_most;
  static_assert(!is_multiple || std::has_single_bit(static_cast<std::uint64_t>(rule.value)), "tested by a mask");
  const bool holds = rule.test == ProblemTest::at_least  ? size >= limit
                     : rule.test == ProblemTest::at_most ? size <= limit
                                                         : (size & (limit - 1)) == 0;
  if (!holds) verdict = {rule.rule, size, limit};
  return !holds;
}

template <std::size_t... I>
inline Verdict check(const Signature& signature, const Sizes& sizes, std::index_sequence<I...>) noexcept {
  Verdict verdict;
  static_cast<void>((breaks<I>(signature, sizes, verdict) || ...));
  return verdict;
}

/// The first rule that makes the problem illegal.
inline Verdict check(const Signature& signature, const Sizes& sizes) noexcept {
  return check(signature, sizes, std::make_index_sequence<std::size(signature_rules)>{});
}

/// K of every split but the last, where they are parts of whole grains; see Constraints.
inline std::int64_t first_split(const Constraints& c, std::int64_t k, std::int64_t splits) noexcept {
  const std::int64_t grains = splits * c.split_grain;
  return (k + grains - 1) / grains * c.split_grain;
}

/// Whether the last of such parts fits the first one's main loop.
inline bool splits_alike(const Constraints& c, std::int64_t k, std::int64_t splits) noexcept {
  if (c.split_grain == 0) return false;
  const auto rounded = [](std::int64_t size, std::int64_t step) { return (size + step - 1) / step; };
  const std::int64_t first = first_split(c, k, splits);
  const std::int64_t last = k - first * (splits - 1);
  const std::int64_t first_rest = rounded(first, c.k_multiple_per_split) - c.split_lead - 1;
  const std::int64_t last_rest = rounded(last, c.k_multiple_per_split) - c.split_lead - 1;
  return last > 0 && (last_rest < 0 || last_rest % c.split_turn <= first_rest % c.split_turn);
}

/// What Constraints look at, of one GEMM.
class OneGemm {
 public:
  explicit OneGemm(const Sizes& sizes) noexcept : sizes_(sizes) {}

  std::int64_t least_m() const noexcept { return sizes_.m; }
  std::int64_t most_m() const noexcept { return sizes_.m; }
  /// Elements of the larger one of A and B, and of C.
  std::int64_t most_ab() const noexcept { return (sizes_.m > sizes_.n ? sizes_.m : sizes_.n) * sizes_.k; }
  std::int64_t most_c() const noexcept { return sizes_.m * sizes_.n; }

  template <ProblemSize Axis>
  bool is_off(std::int64_t multiple) const noexcept {
    return is_off(of<Axis>(), multiple);
  }
  /// What is said where a size is off.
  template <ProblemSize Axis>
  Verdict off(ProblemRule rule, std::int64_t multiple) const noexcept {
    return broken(rule, of<Axis>(), multiple);
  }

  /// The first demand on K that more than one split fails, and on K of the shortest split.
  Verdict uneven(const Constraints& c, std::int64_t splits) const noexcept {
    const std::int64_t whole = splits * c.k_multiple_per_split;
    if ((whole > sizes_.k || is_off(sizes_.k, whole)) && !splits_alike(c, sizes_.k, splits))
      return broken(ProblemRule::gemm_instance_split_multiple, sizes_.k, whole);
    if (c.split_grain == 0 || c.k_multiple_per_split != 0) return {};
    const std::int64_t last = first_split(c, sizes_.k, splits) * (splits - 1);
    return last >= sizes_.k ? broken(ProblemRule::gemm_instance_empty_split, sizes_.k, last) : Verdict{};
  }
  std::int64_t split_k(const Constraints& c, std::int64_t splits) const noexcept {
    if (splits == 1) return sizes_.k;
    if (c.split_grain != 0 && c.k_multiple_per_split == 0) return first_split(c, sizes_.k, splits);
    return static_cast<std::uint32_t>(sizes_.k) / static_cast<std::uint32_t>(splits);
  }

 private:
  template <ProblemSize Axis>
  std::int64_t of() const noexcept {
    return Axis == ProblemSize::m ? sizes_.m : Axis == ProblemSize::n ? sizes_.n : sizes_.k;
  }
  /// Legal sizes fit in 32 bits, where division costs a third; most multiples are powers of two and need none.
  static bool is_off(std::int64_t size, std::int64_t multiple) noexcept {
    if (multiple <= 1) return false;
    const auto divisor = static_cast<std::uint32_t>(multiple);
    const auto dividend = static_cast<std::uint32_t>(size);
    return (divisor & (divisor - 1)) == 0 ? (dividend & (divisor - 1)) != 0 : dividend % divisor != 0;
  }

  const Sizes& sizes_;
};

/// The first demand of an instance that a legal problem fails; `x` is a OneGemm, or what stands for several. A k_batch
/// of 0 counts as 1.
template <class Extent>
inline Verdict supports(const Constraints& c, const Extent& x, std::uint32_t k_batch, bool deterministic) noexcept {
  const std::int64_t splits = k_batch == 0 ? 1 : k_batch;
  if (x.least_m() < c.min_m) return broken(ProblemRule::gemm_instance_min_m, x.least_m(), c.min_m);
  if (c.max_m != 0 && x.most_m() > c.max_m) return broken(ProblemRule::gemm_instance_max_m, x.most_m(), c.max_m);
  if (c.max_ab != 0 && x.most_ab() > c.max_ab)
    return broken(ProblemRule::gemm_instance_matrix_size, x.most_ab(), c.max_ab);
  if (c.max_c != 0 && x.most_c() > c.max_c) return broken(ProblemRule::gemm_instance_matrix_size, x.most_c(), c.max_c);
  if (x.template is_off<ProblemSize::m>(c.m_multiple))
    return x.template off<ProblemSize::m>(ProblemRule::gemm_instance_m_multiple, c.m_multiple);
  if (x.template is_off<ProblemSize::n>(c.n_multiple))
    return x.template off<ProblemSize::n>(ProblemRule::gemm_instance_n_multiple, c.n_multiple);
  if (x.template is_off<ProblemSize::k>(c.k_multiple))
    return x.template off<ProblemSize::k>(ProblemRule::gemm_instance_k_multiple, c.k_multiple);
  if (splits > c.max_k_batch) return broken(ProblemRule::gemm_instance_max_k_batch, splits, c.max_k_batch);
  if (splits > 1) {
    // 0 + a + b = 0 + b + a: each sum of two is rounded once, of the same two addends
    if (c.atomic_split && deterministic && splits > 2)
      return broken(ProblemRule::gemm_instance_atomic_split, splits, 2);
    if (const Verdict verdict = x.uneven(c, splits); !verdict.ok()) return verdict;
  }
  const std::int64_t split_k = x.split_k(c, splits);
  if (split_k < c.min_k) return broken(ProblemRule::gemm_instance_min_k, split_k, c.min_k);
  return {};
}

inline Verdict supports(const Constraints& c, const Sizes& sizes, std::uint32_t k_batch, bool deterministic) noexcept {
  return supports(c, OneGemm(sizes), k_batch, deterministic);
}

}  // namespace ckgen::inline v1::detail
