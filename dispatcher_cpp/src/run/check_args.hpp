// Do the arguments of a run fit the plan?
#pragma once

#include <ckgen/plan.hpp>

namespace ckgen::inline v1::detail {

/// Sizes equal to the plan's, pointers that the signature needs, leading dimensions and strides that hold their
/// operand, extents that 64 bits can count.
Status check_args(const Problem& problem, const GemmArgs& args) noexcept;
/// The same for each group; of groups on the device only their number and the arrays.
Status check_args(const Problem& problem, const GroupedArgs& args) noexcept;
/// The same for a MoE layer or a part of one: the routing as ids, or sorted.
Status check_args(const Problem& problem, const MoeArgs& args) noexcept;

/// The same for attention: what the signature needs is given, and nothing that it has no use for.
Status check_args(const Problem& problem, const FmhaArgs& args) noexcept;
/// Whether the lengths that `args` points to, in host memory, ascend and fit the problem's.
Status check_fmha_lengths(const Problem& problem, const FmhaArgs& args) noexcept;

/// What check_args() says of one GEMM, whose sizes are those of `args`.
Status check_operands(const Signature& signature, const GemmArgs& args) noexcept;

/// Whether 64 bits can count the bytes of every operand when it is stored densely.
Status check_extents(const Problem& problem) noexcept;
/// The same of all experts' weights, and of what gate_up writes.
Status check_moe_extents(const Problem& problem) noexcept;
/// The same of Q, O, the cache, and what has an element per row and column.
Status check_fmha_extents(const Problem& problem) noexcept;

}  // namespace ckgen::inline v1::detail
