// Numbers of docs/selection.md that depend on tiles and CUs; integers throughout, equal to Python's.
#pragma once

#include <cstdint>

#include <ckgen/instance.hpp>

#include "src/gemm/strategy.hpp"

namespace ckgen::inline v1::detail {

/// K splits for another CU count; the caller still halves them until the instance supports them.
inline std::uint32_t recomputed_k_batch(const InstanceDesc& instance, const Sizes& sizes,
                                        std::uint32_t cu_num) noexcept {
  const Wide count = tiles(instance.macro_tile, sizes);
  std::int64_t k_batch = 1;
  while (count * static_cast<std::uint64_t>(2 * k_batch) <= cu_num &&
         2 * k_batch * 2 * instance.macro_tile.k <= sizes.k && 2 * k_batch <= instance.constraints.max_k_batch)
    k_batch *= 2;
  return static_cast<std::uint32_t>(k_batch);
}

/// The cost of one element of K of one tile.
inline std::uint64_t tile_cost(std::uint64_t m, std::uint64_t n) noexcept {
  return m * n + 64 * (m + n);
}

/// A macro tile on a CPU: the register tiles of it that the problem fills.
inline std::uint64_t host_tile_cost(const InstanceDesc& instance, const Sizes& sizes) noexcept {
  const HostConfig& host = instance.host_config;
  const auto parts = [](std::int64_t extent, std::int32_t most, std::int32_t part) {
    const std::int64_t filled = extent < most ? extent : most;
    return ceil_div(static_cast<std::uint64_t>(filled), static_cast<std::uint64_t>(part));
  };
  return parts(sizes.m, instance.macro_tile.m, host.mr) * parts(sizes.n, instance.macro_tile.n, host.nr) *
         tile_cost(static_cast<std::uint64_t>(host.mr), static_cast<std::uint64_t>(host.nr));
}

/// Whether AMX's tile instructions compute it: no other register tile has a multiple of 16 rows.
constexpr bool has_tiles(const HostConfig& host) noexcept {
  return host.mr > 0 && host.mr % 16 == 0;
}

/// How often the m x n accumulators of a tile in `splits` parts are stored or loaded one after the other.
inline std::uint64_t fix_up_steps(Strategy strategy, std::uint64_t splits) noexcept {
  if (strategy == Strategy::atomic) return 2 * splits;
  if (strategy == Strategy::linear) return splits;
  std::uint64_t levels = 0;
  while (std::uint64_t{1} << levels < splits) ++levels;
  return 1 + 2 * levels;
}

/// The iterations of the busiest workgroup at a tile's cost, and the fix-up, per element of K: what a wave of plain
/// workgroups costs. The fix-up's steps count 128 per accumulator, as two bytes of A or B count 64. Tile instructions
/// cost a quarter, as everywhere, and a quarter of that more: each tile packs its rows of A. Few rows have kernels of
/// their own, but here.
inline Wide stream_k_cost(const InstanceDesc& instance, const Sizes& sizes, std::uint32_t cu_num) noexcept {
  const StreamKPartition p = partition_of(instance, sizes, stream_k_workgroups(instance, cu_num));
  const auto m = static_cast<std::uint64_t>(instance.macro_tile.m);
  const auto n = static_cast<std::uint64_t>(instance.macro_tile.n);
  const Wide iterations =
      Wide{static_cast<std::uint64_t>(p.dp_tiles_per_workgroup())} * static_cast<std::uint64_t>(p.iters_per_tile) +
      static_cast<std::uint64_t>(p.sk_iters_per_workgroup() + (p.longer_ranges() > 0 ? 1 : 0));
  const std::uint64_t unit = instance.host_config.mr > 0 ? host_tile_cost(instance, sizes) : tile_cost(m, n);
  constexpr std::int64_t kFewRows = 4;
  Wide cost = iterations * static_cast<std::uint64_t>(instance.macro_tile.k) * unit;
  if (has_tiles(instance.host_config) && sizes.m > kFewRows) cost = cost * 5 / 16;
  if (p.sk_tiles > 0) {
    const auto splits = ceil_div(static_cast<std::uint64_t>(p.iters_per_tile - 1),
                                 static_cast<std::uint64_t>(p.sk_iters_per_workgroup())) +
                        1;
    cost += Wide{128 * m * n} * fix_up_steps(instance.stream_k.strategy, splits);
  }
  const auto k = static_cast<std::uint64_t>(sizes.k);
  return (cost + k - 1) / k;
}

/// Waves of workgroups (on a CPU: register tiles per core) times the cost of one; stream-K has no waves. Tile
/// instructions cost a quarter.
inline Wide default_cost(const InstanceDesc& instance, const Sizes& sizes, std::uint32_t cu_num) noexcept {
  if (instance.stream_k.is_used()) return stream_k_cost(instance, sizes, cu_num);
  const HostConfig& host = instance.host_config;
  const Tile tile = host.mr > 0 ? Tile{host.mr, host.nr, 1} : instance.macro_tile;
  const std::uint64_t cus = cu_num == 0 ? 1 : cu_num;
  const Wide count = tiles(tile, sizes);
  const Wide waves =
      count >> 63 == 0 ? Wide{ceil_div(static_cast<std::uint64_t>(count), cus)} : (count + cus - 1) / cus;
  const Wide cost = waves * tile_cost(static_cast<std::uint64_t>(tile.m), static_cast<std::uint64_t>(tile.n));
  return has_tiles(host) ? cost / 4 : cost;
}

}  // namespace ckgen::inline v1::detail
