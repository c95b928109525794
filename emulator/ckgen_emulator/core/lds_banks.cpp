#include "lds_banks.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "launch.hpp"

namespace ckgen::emu {
namespace {

constexpr unsigned kMostBanks = 64, kMostPhases = 8;
constexpr std::uint32_t kOdd = 0x9e3779b1;  // near 2^32 by the golden ratio

/// Phase of a lane.
using Phases = std::array<std::uint8_t, kLanes>;

constexpr Phases consecutive(unsigned lanes) {
  Phases phases{};
  for (unsigned lane = 0; lane < kLanes; ++lane) phases[lane] = static_cast<std::uint8_t>(lane / lanes);
  return phases;
}

/// Phases from those of the first 32 lanes in groups of four; the other half follows with its own.
constexpr Phases halves(const std::array<std::uint8_t, 8>& fours, unsigned phases_of_half) {
  Phases phases{};
  for (unsigned lane = 0; lane < kLanes; ++lane)
    phases[lane] = static_cast<std::uint8_t>(fours[lane % 32 / 4] + lane / 32 * phases_of_half);
  return phases;
}

constexpr Phases kOne = consecutive(64), kTwo = consecutive(32), kFour = consecutive(16), kEight = consecutive(8);
constexpr Phases kWideReads = halves({0, 1, 2, 3, 1, 0, 3, 2}, 4);     // 0-3 with 20-23, 4-7 with 16-19, ...
constexpr Phases kWideReads950 = halves({0, 1, 1, 0, 1, 0, 0, 1}, 2);  // 0-3, 12-15, 20-27; the rest

const Phases& phases_of(unsigned dwords, bool reads, bool banks64) noexcept {
  if (dwords <= 1) return reads && banks64 ? kOne : kTwo;
  if (dwords == 2) return reads && banks64 ? kTwo : kFour;
  if (!reads) return kEight;
  return dwords == 4 && banks64 ? kWideReads950 : kWideReads;
}

/// What was computed already: conflicts depend on the distances of the addresses alone.
struct Known {
  LaneMask lanes = 0;
  std::uint32_t shape = 0;
  BankCycles cycles;
  alignas(64) std::array<std::uint32_t, kLanes> distance{};
};

}  // namespace

BankCycles bank_cycles(const std::uint32_t* at, LaneMask lanes, unsigned bytes, bool reads, unsigned banks) noexcept {
  const unsigned dwords = (bytes + 3) / 4;
  const Phases& phases = phases_of(dwords, reads, banks == 64);
  BankCycles sum;
  for (unsigned phase = 0; phase < kMostPhases; ++phase) {
    std::array<std::uint8_t, kMostBanks> wanted{};
    std::array<std::uint32_t, 128> seen;
    unsigned count = 0;
    for (LaneMask left = lanes; left != 0; left &= left - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(left));
      if (phases[lane] != phase) continue;
      const std::uint32_t last = (at[lane] + bytes - 1) / 4;
      for (std::uint32_t dword = at[lane] / 4; dword <= last; ++dword) {
        const auto end = seen.begin() + count;
        if (std::find(seen.begin(), end, dword) != end || count == seen.size()) continue;
        seen[count++] = dword;
        ++wanted[dword % banks];
      }
    }
    const unsigned cycles = *std::max_element(wanted.begin(), wanted.end());
    sum.cycles += cycles;
    sum.conflicts += cycles == 0 ? 0 : cycles - 1;
  }
  return sum;
}

void count_cycles(Wave& wave, const std::uint32_t* at, LaneMask lanes, unsigned bytes, bool reads) noexcept {
  if (lanes == 0) return;
  const bool banks64 = wave.launch->chip.processor.lds_banks == 64;
  const std::uint32_t shape =
      bytes << 4 | static_cast<std::uint32_t>(banks64) << 1 | static_cast<std::uint32_t>(reads) | (at[0] & 3) << 2;
  alignas(64) std::array<std::uint32_t, kLanes> distance;
  for (unsigned lane = 0; lane < kLanes; ++lane) distance[lane] = at[lane] - at[0];
  constexpr unsigned kBits = 8;
  static thread_local std::array<Known, 1 << kBits> known;
  std::uint32_t mixed = shape * kOdd;
  for (unsigned lane = 0; lane < kLanes; ++lane) mixed += distance[lane] * (kOdd * (2 * lane + 1));
  Known& entry = known[(mixed ^ mixed >> 16) * kOdd >> (32 - kBits)];
  if (entry.shape != shape || entry.lanes != lanes || entry.distance != distance) {
    entry = {lanes, shape, bank_cycles(at, lanes, bytes, reads, banks64 ? 64 : 32), distance};
  }
  Stats& stats = wave.group->stats;
  stats.lds_cycles += entry.cycles.cycles;
  stats.lds_conflict_cycles += entry.cycles.conflicts;
}

}  // namespace ckgen::emu
