// ckgen's epilogue and operand ops as ck_tile takes elementwise functions: fp32 in between, rounded once, to the
// nearest.
//
// No device library is linked: e^x is 2^(x log2 e) of v_exp_f32. Formulas and error bounds: docs/epilogues.md.
#pragma once

#include <ck_tile/core.hpp>

#include <ckgen/epilogue.hpp>

namespace ckgen::tile {

/// `x` rounded to the nearest, ties to even; ck_tile's own conversion to bf16 truncates by default.
template <class Element>
CK_TILE_DEVICE Element rounded(float x) {
  if constexpr (std::is_same_v<Element, ck_tile::bf16_t>)
    return ck_tile::float_to_bf16(x, ck_tile::constant<ck_tile::bf16_rounding_mode::standard>{});
  else
    return ck_tile::type_convert<Element>(x);
}

/// x / (1 + e^-y)
CK_TILE_DEVICE float gated(float x, float y) {
  constexpr float kLog2E = 1.44269504f;
  return x * __builtin_amdgcn_rcpf(1.0f + __builtin_amdgcn_exp2f(-kLog2E * y));
}

/// The elements of an operand that is made of two tensors.
template <OperandOp kOp>
struct Combined {
  static_assert(kOp == OperandOp::add || kOp == OperandOp::mul);
  template <class Element>
  CK_TILE_DEVICE void operator()(Element& to, const Element& first, const Element& second) const {
    const auto x = ck_tile::type_convert<float>(first);
    const auto y = ck_tile::type_convert<float>(second);
    to = rounded<Element>(kOp == OperandOp::add ? x + y : x * y);
  }
};

/// One step of an epilogue; `d` is the element of the D tensor that an add or mul takes.
template <EpilogueOp kOp>
CK_TILE_DEVICE float step(float x, float alpha, float d) {
  if constexpr (kOp == EpilogueOp::add) return x + d;
  if constexpr (kOp == EpilogueOp::mul) return x * d;
  if constexpr (kOp == EpilogueOp::relu) return x < 0.0f ? 0.0f : x;
  if constexpr (kOp == EpilogueOp::gelu) return gated(x, 1.59576912f * (x + 0.044715f * (x * x * x)));
  if constexpr (kOp == EpilogueOp::silu) return gated(x, x);
  if constexpr (kOp == EpilogueOp::scale) return x * alpha;
  return static_cast<void>(alpha), static_cast<void>(d), x;
}

}  // namespace ckgen::tile
