// Direct-to-LDS loads that their waves have not waited for.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "lds_checks.hpp"

namespace ckgen::emu {

/// What a direct-to-LDS load brings: `bytes` of each of `lanes`, at most 16, for LDS address `at`.
struct LdsDelivery {
  LaneMask lanes = 0;
  unsigned bytes = 0;
  alignas(64) std::uint32_t at[kLanes];
  alignas(64) std::uint8_t data[kLanes][16];
};

/// One instruction's writes; vector memory returns in order, so a wave's land in order.
struct DmaWrites {
  LdsAccess access;                // `number` counts vm
  bool landed = false;             // but not yet waited for
  bool consecutive = false;        // every lane takes part, and begins where the one below it ends
  std::uint32_t low = 0, end = 0;  // no byte before or from there on is written
  std::uint8_t data[kLanes][16];

  bool covers(std::uint32_t byte) const noexcept;

  /// What it writes to a byte of LDS that it covers: the last lane's.
  std::uint8_t at(std::uint32_t byte) const noexcept;
};

/// Not thread-safe: a workgroup runs on one thread.
class DmaQueue {
 public:
  /// A new entry.
  DmaWrites& add(const Wave& wave, const Inst& inst, const LdsDelivery& delivery, std::uint32_t number);
  /// Writes what has not landed yet, of this wave up to `number`.
  void land(const Wave& wave, std::uint32_t number);
  /// Drops what the wave has waited for; `checks` is null in plain runs.
  void retire(const Wave& wave, LdsChecks* checks);
  /// The youngest entry that covers a byte of LDS, and whose it is; null if none does.
  const DmaWrites* covering(std::uint32_t byte, unsigned& wave) const noexcept;

 private:
  using Entries = std::vector<std::unique_ptr<DmaWrites>>;

  std::array<Entries, kGroupWaves> waves_;
  Entries free_;
};

}  // namespace ckgen::emu
