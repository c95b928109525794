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
namespace detail {

/// Puts members into a key, as key_bits::visit() shows them.
struct KeyWriter {
  std::uint64_t& key;

  template <class Member>
  constexpr void operator()(const Member& member, int at, int /*bits*/) const noexcept {
    key |= static_cast<std::uint64_t>(member) << at;
  }
  template <int N>
  constexpr void operator()(std::uint8_t size, int at, int /*bits*/, const std::uint8_t (&sizes)[N]) const noexcept {
    key |= static_cast<std::uint64_t>(code_of(sizes, size)) << at;
  }
};

}  // namespace detail

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
    std::uint64_t key = 0;
    key_bits::visit(*this, detail::KeyWriter{key});
    return key;
  }

  friend constexpr bool operator==(const Signature& x, const Signature& y) noexcept { return x.pack() == y.pack(); }
  friend constexpr bool operator!=(const Signature& x, const Signature& y) noexcept { return !(x == y); }
};

namespace detail {

/// Plain fp8 and bf8 of A, B and C in an arch's flavour. Built field by field: a copy that is changed afterwards costs
/// select() a store-forwarding stall.
constexpr Signature resolved(const Signature& s, Fp8Flavour flavour) noexcept {
  return {s.op,
          resolve(s.a, flavour),
          resolve(s.b, flavour),
          resolve(s.c, flavour),
          s.acc,
          s.scale,
          s.layout,
          s.quant,
          s.preshuffle_b,
          s.batched,
          s.bias,
          s.epilogue,
          s.a_op,
          s.b_op,
          s.scale_block,
          s.moe,
          s.fmha};
}

}  // namespace detail

}  // namespace v1
}  // namespace ckgen
