// What a GEMM does beside the product: ops on its result, on its operands, and which elements share a block scale.
//
// Plain constexpr values; no errors, no thread affinity.
#pragma once

#include <cstdint>

#include <ckgen/words.hpp>

namespace ckgen {
inline namespace v1 {

/// Up to kMaxEpilogueOps steps in order, `none` behind the last; at most kMaxD of them take a D tensor.
struct Epilogue {
  EpilogueOp ops[kMaxEpilogueOps] = {};

  constexpr bool empty() const noexcept { return ops[0] == EpilogueOp::none; }
  constexpr int d_count() const noexcept {
    int count = 0;
    for (const EpilogueOp op : ops) count += takes_d(op) ? 1 : 0;
    return count;
  }
  constexpr bool has(EpilogueOp wanted) const noexcept {
    for (const EpilogueOp op : ops) {
      if (op == wanted) return true;
    }
    return false;
  }
};

/// The code of a size that no scale block has.
inline constexpr int kNoScaleBlock = 7;

/// Where `size` stands in `sizes`; kNoScaleBlock, which no instance has, for a size that does not.
template <int N>
constexpr int code_of(const std::uint8_t (&sizes)[N], std::uint8_t size) noexcept {
  static_assert(N <= kNoScaleBlock);
  for (int i = 0; i < N; ++i) {
    if (sizes[i] == size) return i;
  }
  return kNoScaleBlock;
}

/// Elements that share a block scale: 1 x `k` of A, `n` x `k` of B.
struct ScaleBlock {
  ScaleSides sides = ScaleSides::both;
  std::uint8_t n = 128;
  std::uint8_t k = 128;

  constexpr bool is_usual() const noexcept { return sides == ScaleSides::both && n == 128 && k == 128; }
};

}  // namespace v1
}  // namespace ckgen
