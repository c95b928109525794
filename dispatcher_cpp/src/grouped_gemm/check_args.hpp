#pragma once

#include <ckgen/problem.hpp>

namespace ckgen::inline v1::detail {

/// What check_args() asks of a GEMM, of each group; of groups on the device only their number and the arrays. The
/// problem has groups.
Status check_args(const Problem& problem, const GroupedArgs& args) noexcept;

}  // namespace ckgen::inline v1::detail
