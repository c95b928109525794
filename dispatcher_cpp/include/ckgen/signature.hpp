// WHAT is computed: the fields that a Problem and an Instance must share to be matched.
#pragma once

#include <cstdint>

#include <ckgen/dtype.hpp>
#include <ckgen/fmha.hpp>
#include <ckgen/gemm_types.hpp>
#include <ckgen/key_bits.hpp>
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
    if (op == Op::fmha)  // no more fields that differ
      return with_types(fmha.pack()) << (key_bits::layout + key_bits::quant + 3 * key_bits::flag);
    std::uint64_t key = with_types(extras());
    key = key << key_bits::layout | static_cast<std::uint64_t>(layout);
    key = key << key_bits::quant | static_cast<std::uint64_t>(quant);
    for (const bool flag : {preshuffle_b, batched, bias})
      key = key << key_bits::flag | static_cast<std::uint64_t>(flag);
    return key;
  }

  /// A key with the op and the types behind it.
  constexpr std::uint64_t with_types(std::uint64_t key) const noexcept {
    key = key << key_bits::op | static_cast<std::uint64_t>(op);
    for (const DType dtype : {a, b, c, acc, scale}) key = key << key_bits::dtype | static_cast<std::uint64_t>(dtype);
    return key;
  }

  /// What most signatures do not have, in one integer that is 0 for them.
  constexpr std::uint64_t extras() const noexcept {
    std::uint64_t key = static_cast<std::uint64_t>(scale_block.sides);
    key = key << key_bits::scale_block | static_cast<std::uint64_t>(code_of(kScaleBlockK, scale_block.k));
    key = key << key_bits::scale_block | static_cast<std::uint64_t>(code_of(kScaleBlockN, scale_block.n));
    key = key << 2 * key_bits::operand_op | (op == Op::moe ? moe_bits() : operand_op_bits());
    for (const EpilogueOp step : epilogue.ops) key = key << key_bits::epilogue_op | static_cast<std::uint64_t>(step);
    return key;
  }

  /// Signatures of op moe have no operand ops, and others no MoE traits: the same bits hold either.
  constexpr std::uint64_t operand_op_bits() const noexcept {
    return static_cast<std::uint64_t>(a_op) << key_bits::operand_op | static_cast<std::uint64_t>(b_op);
  }
  constexpr std::uint64_t moe_bits() const noexcept {
    return static_cast<std::uint64_t>(moe.part) << 2 * key_bits::flag |
           static_cast<std::uint64_t>(moe.gated) << key_bits::flag | static_cast<std::uint64_t>(moe.weight_first);
  }

  friend constexpr bool operator==(const Signature& x, const Signature& y) noexcept { return x.pack() == y.pack(); }
  friend constexpr bool operator!=(const Signature& x, const Signature& y) noexcept { return !(x == y); }
};

}  // namespace v1
}  // namespace ckgen
