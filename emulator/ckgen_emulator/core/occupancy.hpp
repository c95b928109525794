// How many workgroups a chip holds at once.
#pragma once

#include <algorithm>
#include <cstdint>

#include "launch.hpp"

namespace ckgen::emu {

/// Bounds of one compute unit. Source: CDNA3 ISA, 3.6 (registers, in units of 8), and "AMD CDNA 3 Architecture": four
/// SIMDs of at most eight waves and 512 vector registers per lane each.
struct Occupancy {
  std::uint32_t groups_by_waves, groups_by_registers, groups_by_lds;

  std::uint32_t groups() const noexcept { return std::min({groups_by_waves, groups_by_registers, groups_by_lds}); }
};

inline Occupancy occupancy_of(const Kernel& kernel, const Chip& chip, const Dispatch& dispatch) noexcept {
  constexpr std::uint32_t kSimds = 4, kWavesPerSimd = 8, kRegisters = 512, kGranule = 8;
  const std::uint64_t items = std::uint64_t{dispatch.block[0]} * dispatch.block[1] * dispatch.block[2];
  const auto waves = std::max<std::uint32_t>(static_cast<std::uint32_t>((items + kLanes - 1) / kLanes), 1);
  const std::uint32_t registers = std::clamp((kernel.vgprs + kGranule - 1) / kGranule * kGranule, kGranule, kRegisters);
  const std::uint32_t lds = kernel.lds_bytes + dispatch.dynamic_lds;
  const std::uint32_t by_registers = std::min(kRegisters / registers, kWavesPerSimd);
  return {kSimds * kWavesPerSimd / waves, kSimds * by_registers / waves,
          lds == 0 ? kSimds * kWavesPerSimd : chip.lds_bytes / lds};
}

}  // namespace ckgen::emu
