// Direct-to-LDS loads that their waves have not waited for.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "lds_checks.hpp"

namespace ckgen::emu {

/// One instruction's writes; vector memory returns in order, so a wave's land in order.
struct DmaWrites {
  LdsAccess access;     // `number` counts vm
  bool landed = false;  // but not yet waited for
  std::uint8_t data[kLanes][16];

  /// What it writes to a byte of LDS that it covers: the last lane's.
  std::uint8_t at(std::uint32_t byte) const noexcept;
};

/// Not thread-safe: a workgroup runs on one thread.
class DmaQueue {
 public:
  /// The instruction's entry for one more lane of so many bytes; a new one where the last cannot take it.
  DmaWrites& entry(const Wave& wave, const Inst& inst, unsigned lane, unsigned bytes, std::uint32_t number);
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
