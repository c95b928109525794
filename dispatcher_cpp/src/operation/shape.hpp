// A problem as lists of shapes have it (docs/shapes.md), and as one number.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ckgen/problem.hpp>

#include "src/operation/cost.hpp"

namespace ckgen::inline v1::detail {

/// The columns of a problem beside its signature and target; 0 and empty where it has no such thing.
struct ShapeCells {
  std::int64_t batch = 0, m = 0, n = 0, k = 0;
  std::uint32_t experts = 0, top_k = 0;
  std::string sizes;  // without commas
};

/// A problem that was read, with the sizes of its groups.
struct ShapeProblem {
  Problem problem;
  std::vector<GroupSize> sizes;
  std::optional<Groups> groups;  // of `sizes`
};

/// By what rows that were measured at other sizes answer: what they must share with a problem, and up to two sizes that
/// are rounded up to theirs.
struct MeasuredKey {
  std::array<std::int64_t, 10> same{};
  std::array<std::int64_t, 2> sizes{};
};

/// A hash of numbers in their order, by folded products of 64 by 64 bits, as in wyhash. Of 10,000 shapes two are one
/// with a probability of 3e-12.
class ShapeHash {
 public:
  constexpr void add(std::uint64_t x, std::uint64_t y) noexcept {
    value_ = folded(x ^ 0xa0761d6478bd642fULL, y ^ value_ ^ 0xe7037ed1a0b428dbULL) + (value_ << 1 | value_ >> 63);
  }
  template <class X, class Y>
  constexpr void add(X x, Y y) noexcept {
    add(static_cast<std::uint64_t>(x), static_cast<std::uint64_t>(y));
  }

  /// Never 0.
  constexpr std::uint64_t value() const noexcept {
    const std::uint64_t mixed = folded(value_ ^ 0x8ebc6af09c88c6e3ULL, 0x589965cc75374cc3ULL);
    return mixed != 0 ? mixed : 1;
  }

 private:
  static constexpr std::uint64_t folded(std::uint64_t x, std::uint64_t y) noexcept {
    const Wide product = Wide{x} * y;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }

  std::uint64_t value_ = 0x9e3779b97f4a7c15ULL;
};

}  // namespace ckgen::inline v1::detail
