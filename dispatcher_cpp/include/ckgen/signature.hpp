// WHAT is computed: the fields that a Problem and an Instance must share to be matched.
#pragma once

#include <cstdint>

#include <ckgen/dtype.hpp>
#include <ckgen/fmha.hpp>
#include <ckgen/gemm_types.hpp>
#include <ckgen/moe.hpp>

namespace ckgen {
inline namespace v1 {

enum class Op : std::uint8_t { gemm, grouped_gemm, moe, fmha };

/// Every field takes part in matching. `scale` is DType::none where nothing is scaled.
/// A dtype of fp8 or bf8 means the device's own flavour; instances never hold one.
struct Signature {
  Op op = Op::gemm;
  DType a = DType::fp32;
  DType b = DType::fp32;
  DType c = DType::fp32;
  DType acc = DType::fp32;
  DType scale = DType::none;
  Layout layout = Layout::rcr;
  Quant quant = Quant::none;
  bool preshuffle_b = false;
  bool batched = false;
  bool bias = false;
  Epilogue epilogue = {};
  OperandOp a_op = OperandOp::none;
  OperandOp b_op = OperandOp::none;
  ScaleBlock scale_block = {};
  MoeTraits moe = {};
  FmhaTraits fmha = {};

  /// All fields in one integer: equal exactly when the signatures are equal.
  constexpr std::uint64_t pack() const noexcept {
    if (op == Op::fmha) return pack_fmha();
    std::uint64_t key = extras() << 3 | static_cast<std::uint64_t>(op);
    for (const DType dtype : {a, b, c, acc, scale}) key = key << 5 | static_cast<std::uint64_t>(dtype);
    key = key << 3 | static_cast<std::uint64_t>(layout);
    key = key << 4 | static_cast<std::uint64_t>(quant);
    return key << 3 | static_cast<std::uint64_t>(preshuffle_b) << 2 | static_cast<std::uint64_t>(batched) << 1 |
           static_cast<std::uint64_t>(bias);
  }

  /// Types and traits: signatures of op fmha have no other fields that differ.
  constexpr std::uint64_t pack_fmha() const noexcept {
    std::uint64_t key = fmha.pack() << 3 | static_cast<std::uint64_t>(op);
    for (const DType dtype : {a, b, c, acc, scale}) key = key << 5 | static_cast<std::uint64_t>(dtype);
    return key << 10;  // the op stands where it does for the others
  }

  /// What most signatures do not have, in one integer that is 0 for them.
  constexpr std::uint64_t extras() const noexcept {
    std::uint64_t key = static_cast<std::uint64_t>(scale_block.sides);
    key = key << 3 | static_cast<std::uint64_t>(code_of(kScaleBlockK, scale_block.k));
    key = key << 3 | static_cast<std::uint64_t>(code_of(kScaleBlockN, scale_block.n));
    key = key << 4 | (op == Op::moe ? moe_bits() : operand_op_bits());
    for (const EpilogueOp step : epilogue.ops) key = key << 3 | static_cast<std::uint64_t>(step);
    return key;
  }

  /// Signatures of op moe have no operand ops, and others no MoE traits: the same four bits hold either.
  constexpr std::uint64_t operand_op_bits() const noexcept {
    return static_cast<std::uint64_t>(a_op) << 2 | static_cast<std::uint64_t>(b_op);
  }
  constexpr std::uint64_t moe_bits() const noexcept {
    return static_cast<std::uint64_t>(moe.part) << 2 | static_cast<std::uint64_t>(moe.gated) << 1 |
           static_cast<std::uint64_t>(moe.weight_first);
  }

  friend constexpr bool operator==(const Signature& x, const Signature& y) noexcept { return x.pack() == y.pack(); }
  friend constexpr bool operator!=(const Signature& x, const Signature& y) noexcept { return !(x == y); }
};

}  // namespace v1
}  // namespace ckgen
