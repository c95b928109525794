// How many workgroups a chip holds at once.
#pragma once

#include <algorithm>
#include <cstdint>

#include "launch.hpp"

namespace ckgen::emu {

/// Bounds of one compute unit, by the arch's spec. Source of its four SIMDs: "AMD CDNA 3 Architecture".
struct Occupancy {
  std::uint32_t groups_by_waves, groups_by_registers, groups_by_lds;

  std::uint32_t groups() const noexcept { return std::min({groups_by_waves, groups_by_registers, groups_by_lds}); }
};

inline Occupancy occupancy_of(const Kernel& kernel, const Chip& chip, const Dispatch& dispatch) noexcept {
  constexpr std::uint32_t kSimds = 4;
  const Processor& of = chip.processor;
  const auto whole = [](std::uint32_t count, std::uint32_t granule) {
    return (count + granule - 1) / granule * granule;
  };
  const std::uint64_t items = std::uint64_t{dispatch.block[0]} * dispatch.block[1] * dispatch.block[2];
  const auto waves = std::max<std::uint32_t>(static_cast<std::uint32_t>((items + kLanes - 1) / kLanes), 1);
  const std::uint32_t registers = std::clamp(whole(kernel.vgprs, of.vgpr_granule), of.vgpr_granule, of.simd_vgprs);
  const std::uint32_t lds = whole(kernel.lds_bytes + dispatch.dynamic_lds, of.lds_granule);
  const std::uint32_t by_registers = std::min(of.simd_vgprs / registers, of.simd_waves);
  return {kSimds * of.simd_waves / waves, kSimds * by_registers / waves,
          lds == 0 ? kSimds * of.simd_waves : chip.lds_bytes / lds};
}

}  // namespace ckgen::emu
