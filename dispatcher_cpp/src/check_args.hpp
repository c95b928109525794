// Do the arguments of a run fit the plan?
#pragma once

#include <ckgen/plan.hpp>

namespace ckgen::inline v1::detail {

/// Sizes equal to the plan's, pointers that the signature needs, leading dimensions and strides that hold their
/// operand, extents that 64 bits can count.
Status check_args(const Problem& problem, const GemmArgs& args) noexcept;

/// Whether 64 bits can count the bytes of every operand when it is stored densely.
Status check_extents(const Problem& problem) noexcept;

}  // namespace ckgen::inline v1::detail
