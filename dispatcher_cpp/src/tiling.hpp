// Numbers of docs/selection.md that depend on tiles and CUs; integers throughout, equal to Python's.
#pragma once

#include <cstdint>

#include <ckgen/instance.hpp>

#include "supports.hpp"

namespace ckgen::inline v1::detail {

/// Sizes go up to 2^31 each, so a product of three and a weight needs more than 64 bits.
__extension__ using Wide = unsigned __int128;

inline std::uint64_t ceil_div(std::uint64_t x, std::uint64_t y) noexcept {
  return (x + y - 1) / y;
}

inline Wide tiles(const Tile& tile, const Sizes& sizes) noexcept {
  const auto m = ceil_div(static_cast<std::uint64_t>(sizes.m), static_cast<std::uint64_t>(tile.m));
  const auto n = ceil_div(static_cast<std::uint64_t>(sizes.n), static_cast<std::uint64_t>(tile.n));
  return Wide{m * n} * static_cast<std::uint64_t>(sizes.batch < 1 ? 1 : sizes.batch);
}

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

/// Waves of workgroups (on a CPU: register tiles per core) times the cost of one.
inline Wide default_cost(const InstanceDesc& instance, const Sizes& sizes, std::uint32_t cu_num) noexcept {
  const HostConfig& host = instance.host_config;
  const Tile tile = host.mr > 0 ? Tile{host.mr, host.nr, 1} : instance.macro_tile;
  const auto m = static_cast<std::uint64_t>(tile.m);
  const auto n = static_cast<std::uint64_t>(tile.n);
  const std::uint64_t cus = cu_num == 0 ? 1 : cu_num;
  const Wide count = tiles(tile, sizes);
  const Wide waves =
      count >> 63 == 0 ? Wide{ceil_div(static_cast<std::uint64_t>(count), cus)} : (count + cus - 1) / cus;
  return waves * (m * n + 64 * (m + n));
}

}  // namespace ckgen::inline v1::detail
