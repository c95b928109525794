// Do the arguments of a GEMM fit its problem?
#pragma once

#include <ckgen/problem.hpp>

namespace ckgen::inline v1::detail {

/// Sizes equal to the problem's, pointers that the signature needs, leading dimensions and strides that hold their
/// operand, extents that 64 bits can count.
Status check_args(const Problem& problem, const GemmArgs& args) noexcept;

/// What check_args() says of one GEMM, whose sizes are those of `args`.
Status check_operands(const Signature& signature, const GemmArgs& args) noexcept;

/// Whether 64 bits can count the bits of every operand when it is stored densely; of groups their largest sizes.
Status check_gemm_extents(const Problem& problem) noexcept;

}  // namespace ckgen::inline v1::detail
