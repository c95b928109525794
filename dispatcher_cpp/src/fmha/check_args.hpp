// Do the arguments of attention fit its problem?
#pragma once

#include <ckgen/problem.hpp>

namespace ckgen::inline v1::detail {

/// What the signature needs is given, and nothing that it has no use for.
Status check_args(const Problem& problem, const FmhaArgs& args) noexcept;

/// Whether the lengths that `args` points to, in host memory, ascend and fit the problem's.
Status check_fmha_lengths(const Problem& problem, const FmhaArgs& args) noexcept;

/// Whether 64 bits can count the bits of Q, O, the cache, and what has an element per row and column.
Status check_fmha_extents(const Problem& problem) noexcept;

}  // namespace ckgen::inline v1::detail
