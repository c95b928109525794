// Stream-K instances: can one have a problem on so many compute units? The integers of codegen/ckgen/families/stream_k.
#pragma once

#include <cstdint>

#include <ckgen/instance.hpp>
#include <ckgen/stream_k.hpp>

#include "src/operation/cost.hpp"
#include "src/operation/verdict.hpp"

namespace ckgen::inline v1::detail {

inline Wide tiles(const Tile& tile, const Sizes& sizes) noexcept {
  const auto m = ceil_div(static_cast<std::uint64_t>(sizes.m), static_cast<std::uint64_t>(tile.m));
  const auto n = ceil_div(static_cast<std::uint64_t>(sizes.n), static_cast<std::uint64_t>(tile.n));
  return Wide{m * n} * static_cast<std::uint64_t>(sizes.batch < 1 ? 1 : sizes.batch);
}

/// Tiles beyond 2^62 count as 2^62: such a problem is refused for its extents when it is planned.
inline StreamKPartition partition_of(const InstanceDesc& instance, const Sizes& sizes,
                                     std::uint32_t workgroups) noexcept {
  constexpr Wide most = Wide{1} << 62;
  const Wide count = tiles(instance.macro_tile, sizes);
  return stream_k_partition(static_cast<std::int64_t>(count < most ? count : most),
                            (sizes.k + instance.macro_tile.k - 1) / instance.macro_tile.k, workgroups);
}

inline StreamKPartition partition_of(const InstanceDesc& instance, const Problem& problem,
                                     std::uint32_t workgroups) noexcept {
  return partition_of(instance, Sizes{problem.m(), problem.n(), problem.k(), problem.batch()}, workgroups);
}

/// What a stream-K kernel of a GPU asks for; accumulators have 4 bytes.
inline StreamKWorkspace stream_k_workspace(const InstanceDesc& instance, const StreamKPartition& partition) noexcept {
  if (instance.stream_k.strategy == Strategy::atomic) return {0, 0, 0};
  return ckgen::stream_k_workspace(partition, instance.macro_tile.m, instance.macro_tile.n, 4);
}

/// The first demand of an instance's strategy that a legal problem fails. A wish comes first, so that a problem which
/// asks for a strategy hears of the instances that have it.
inline Verdict strategy_verdict(const InstanceDesc& instance, const Sizes& sizes, Strategy wish, bool deterministic,
                                std::uint32_t cu_num) noexcept {
  const Strategy own = instance.stream_k.strategy;
  if (wish != Strategy::any && wish != own)
    return broken(ProblemRule::gemm_stream_k_strategy, static_cast<std::int64_t>(own), static_cast<std::int64_t>(wish));
  if (!instance.stream_k.is_used()) return {};
  const std::uint32_t workgroups = stream_k_workgroups(instance, cu_num);
  if (deterministic && own == Strategy::atomic) return broken(ProblemRule::gemm_stream_k_atomic, workgroups, 1);
  const StreamKPartition partition = partition_of(instance, sizes, workgroups);
  if (!partition.feasible())
    return broken(ProblemRule::gemm_stream_k_too_few_tiles, partition.sk_iters(), partition.grid);
  return {};
}

}  // namespace ckgen::inline v1::detail
