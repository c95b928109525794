// ckgen's epilogue and operand ops as ck_tile takes elementwise functions: fp32 in between, rounded once, to the
// nearest.
//
// Formulas and error bounds: docs/epilogues.md.
#pragma once

#include <ck_tile/core.hpp>

#include <ckgen/epilogue.hpp>

#include "../device/epilogue_step.hpp"

namespace ckgen::tile {

/// `x` rounded to the nearest, ties to even; ck_tile's own conversion to bf16 truncates by default.
template <class Element>
CK_TILE_DEVICE Element rounded(float x) {
  if constexpr (std::is_same_v<Element, ck_tile::bf16_t>)
    return ck_tile::float_to_bf16(x, ck_tile::constant<ck_tile::bf16_rounding_mode::standard>{});
  else
    return ck_tile::type_convert<Element>(x);
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

using device::step;

}  // namespace ckgen::tile
