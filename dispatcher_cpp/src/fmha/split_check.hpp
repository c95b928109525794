// What a split-KV plan demands of its problem, and what follows from the problem without its lengths.
#pragma once

#include <cstdint>
#include <limits>

#include <ckgen/fmha_split.hpp>

#include "src/fmha/split_search.hpp"
#include "src/fmha/split_tiles.hpp"

namespace ckgen::inline v1::detail {

/// What the launch counts in 32 bits.
inline constexpr std::int64_t kMostInt = std::numeric_limits<std::int32_t>::max();

/// All fields but the lengths.
Status check_split_problem(const FmhaSplitProblem& problem) noexcept;

/// The rest is for legal problems.
SplitGeometry split_geometry(const FmhaSplitProblem& problem) noexcept;
ItemCosts split_costs(const FmhaSplitProblem& problem, const SplitGeometry& geometry) noexcept;
/// Splits beyond one per tile that a plan makes where the cost model decides.
std::int64_t most_extra_splits(const FmhaSplitProblem& problem, const SplitGeometry& geometry) noexcept;

/// Whether a grid may have so many items.
Status check_split_grid(const FmhaSplitProblem& problem, const SplitGeometry& geometry, std::int64_t items) noexcept;
/// Whether 64 bits count the columns of so many units of all tiles, for all heads.
Status check_split_columns(const SplitGeometry& geometry, std::int64_t units) noexcept;
/// Whether a tile may have so many splits of a fixed size.
Status check_fixed_splits(const FmhaSplitProblem& problem, std::int64_t splits) noexcept;

}  // namespace ckgen::inline v1::detail
