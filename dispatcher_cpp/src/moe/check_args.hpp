// Do the arguments of a MoE layer or a part of one fit its problem?
#pragma once

#include <ckgen/problem.hpp>

namespace ckgen::inline v1::detail {

/// Pointers that the signature needs, leading dimensions that hold their operand, the routing as ids, or sorted.
Status check_args(const Problem& problem, const MoeArgs& args) noexcept;

/// Whether 64 bits can count the bits of all experts' weights, and of what gate_up writes.
Status check_moe_extents(const Problem& problem) noexcept;

}  // namespace ckgen::inline v1::detail
