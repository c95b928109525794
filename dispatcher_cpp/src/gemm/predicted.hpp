// Predicted clocks of an instance, as families/gemm/predicted/ticks.py counts them: integers, rounded alike.
#pragma once

#include <algorithm>
#include <cstdint>

#include <ckgen/library.hpp>

#include "src/operation/cost.hpp"
#include "src/operation/verdict.hpp"

namespace ckgen::inline v1::detail {

/// Ticks of a legal problem on so many compute units, unsplit. Clusters beyond 2^50 count as 2^50.
inline Wide predicted_ticks(const KernelWork& work, const Sizes& sizes, std::uint32_t cu_num) noexcept {
  constexpr Wide most = Wide{1} << 50;
  constexpr unsigned parts = 10, memory_bits = 16, slot_bits = 10;
  const auto m = static_cast<std::uint64_t>(sizes.m), n = static_cast<std::uint64_t>(sizes.n);
  const auto k = static_cast<std::uint64_t>(sizes.k);
  const auto batch = static_cast<std::uint64_t>(std::max<std::int64_t>(sizes.batch, 1));
  const std::uint64_t over_m = ceil_div(m, work.tile_m), over_n = ceil_div(n, work.tile_n);
  const Wide tiles = Wide{over_m * over_n} * batch;
  const auto clusters = static_cast<std::uint64_t>(std::min(tiles, most));
  const std::uint64_t slots = std::max<std::uint64_t>(std::uint64_t{cu_num} * work.slots >> slot_bits, 1);
  const std::uint64_t steps = ceil_div(k, work.tile_k), waves = ceil_div(clusters, slots);
  const std::uint64_t rounds = ceil_div(waves, work.resident);
  const auto together = static_cast<std::uint32_t>(std::min<std::uint64_t>(waves, work.resident));
  const Wide loop = Wide{steps} * waves;
  const Wide compute = loop * (std::uint64_t{work.matrix} + work.alone / together), cache = loop * work.cache;
  const Wide lds = loop * work.lds, latency = Wide{steps} * rounds * work.latency;
  const Wide longest = std::max(std::max(compute, cache), std::max(lds, latency));
  const Wide rest = compute + cache + lds + latency - longest;
  const Wide busy = longest + (rest * work.apart >> parts) + Wide{rounds} * work.tile + Wide{waves} * work.store;
  // Sizes are below 2^31: what stands in one Wide{} or a pair of brackets fits 64 bits.
  const Wide once = Wide{batch * k} * (m * work.a_bits + n * work.b_bits);
  const Wide loaded = Wide{clusters * work.cluster} * (steps * work.loaded);
  const Wide again = loaded > once ? (loaded - once) * work.reload >> parts : Wide{0};
  const std::uint64_t outside =
      (over_m * work.tile_m - m) * over_n * work.a_bits + (over_n * work.tile_n - n) * over_m * work.b_bits;
  const Wide beyond = Wide{batch * k} * outside * work.outside >> parts;
  const Wide memory = (once + again + beyond + Wide{batch * m} * (n * work.c_bits)) * work.memory >> memory_bits;
  return std::max(busy, memory) + (std::min(busy, memory) * work.apart >> parts) + work.launch;
}

}  // namespace ckgen::inline v1::detail
