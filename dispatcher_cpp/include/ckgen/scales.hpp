// Which operands of a GEMM have scales. Pure functions.
#pragma once

#include "ckgen/gemm_types.hpp"

namespace ckgen {
inline namespace v1 {

/// Whether A has scales: block scales may be B's alone.
constexpr bool scales_a(Quant quant, ScaleBlock block) noexcept {
  return quant != Quant::none && (quant != Quant::blockscale || block.sides != ScaleSides::b);
}

/// Whether B has scales: block scales may be A's alone.
constexpr bool scales_b(Quant quant, ScaleBlock block) noexcept {
  return quant != Quant::none && (quant != Quant::blockscale || block.sides != ScaleSides::a);
}

}  // namespace v1
}  // namespace ckgen
