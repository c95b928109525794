// From a selected instance to what the split-KV planner is asked, and from its answer to the shape that is planned.
#pragma once

#include <cstdint>

#include <ckgen/export.h>
#include <ckgen/fmha_split.hpp>
#include <ckgen/instance.hpp>

namespace ckgen {
inline namespace v1 {

/// A batch of `shape` with the instance's tiles, mask and heads, on a device of so many compute units; limits and costs
/// are the defaults. `shape` is without a schedule. The lengths are [shape.batch], and live as long as the problem is
/// used.
CKGEN_API FmhaSplitProblem fmha_split_problem(const InstanceDesc& instance, const FmhaShape& shape,
                                              std::uint32_t cu_num, const std::int32_t* seqlen_q,
                                              const std::int32_t* seqlen_k) noexcept;

/// The shape with a schedule of these sizes, or of this bound, for that problem.
CKGEN_API FmhaShape with_schedule(FmhaShape shape, const FmhaSplitProblem& problem,
                                  const FmhaSplitSizes& sizes) noexcept;

}  // namespace v1
}  // namespace ckgen
