// What a GEMM does beside the product: ops on its result, on its operands, and which elements share a block scale.
//
// Plain constexpr values; no errors, no thread affinity.
#pragma once

#include <cstdint>
#include <string_view>

namespace ckgen {
inline namespace v1 {

/// One step on the fp32 result x, after scales and bias. gelu is the tanh form, 0.5 x (1 + tanh(sqrt(2 / pi)
/// (x + 0.044715 x^3))), as PyTorch's approximate="tanh" and CK's FastGelu; silu is x / (1 + e^-x).
enum class EpilogueOp : std::uint8_t {
  none,
  add,  // x + D[m][n] of the next D tensor
  mul,  // x * D[m][n] of the next D tensor
  relu,
  gelu,
  silu,
  scale,  // x * alpha
};
inline constexpr int kEpilogueOpCount = static_cast<int>(EpilogueOp::scale) + 1;

inline constexpr int kMaxEpilogueOps = 3;
inline constexpr int kMaxD = 2;

constexpr bool takes_d(EpilogueOp op) noexcept {
  return op == EpilogueOp::add || op == EpilogueOp::mul;
}

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

/// How an operand comes from two tensors of its type.
enum class OperandOp : std::uint8_t { none, add, mul };
inline constexpr int kOperandOpCount = static_cast<int>(OperandOp::mul) + 1;

/// Which operands have block scales.
enum class ScaleSides : std::uint8_t { both, a, b };
inline constexpr int kScaleSidesCount = static_cast<int>(ScaleSides::b) + 1;

/// The sizes that a scale block may have along K and N, the usual one first.
inline constexpr std::uint8_t kScaleBlockK[] = {128, 64, 32, 16};
inline constexpr std::uint8_t kScaleBlockN[] = {128, 64, 32, 16, 8, 1};
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

constexpr std::string_view name(EpilogueOp op) noexcept {
  switch (op) {
    case EpilogueOp::none: return "none";
    case EpilogueOp::add: return "add";
    case EpilogueOp::mul: return "mul";
    case EpilogueOp::relu: return "relu";
    case EpilogueOp::gelu: return "gelu";
    case EpilogueOp::silu: return "silu";
    case EpilogueOp::scale: return "scale";
  }
  return "none";
}

constexpr std::string_view name(ScaleSides sides) noexcept {
  switch (sides) {
    case ScaleSides::both: return "both";
    case ScaleSides::a: return "a";
    case ScaleSides::b: return "b";
  }
  return "both";
}

constexpr std::string_view name(OperandOp op) noexcept {
  switch (op) {
    case OperandOp::none: return "none";
    case OperandOp::add: return "add";
    case OperandOp::mul: return "mul";
  }
  return "none";
}

}  // namespace v1
}  // namespace ckgen
