// How many cycles the banks of LDS take for an access.
//
// A bank gives one dword per cycle. An access is done in phases of lanes; a phase takes as many cycles as the most
// wanted bank has different dwords to give, and lanes that want the same dword share it. Which lanes make a phase was
// measured, not documented: gfx942's ds_read_b128 by ROCm's blog "Avoiding LDS Bank Conflicts" and CK's page on LDS
// bank conflicts (which also gives ds_write_b128), gfx950's ds_read_b128, ds_read_b96, ds_read_b64 and ds_write_b64 by
// HipKittens (analysis/paper_experiments/phases). Assumed in their likeness: all others, as consecutive lanes that want
// 32 dwords together, on gfx950 64 for reads of up to 64 bits.
#pragma once

#include <cstdint>

#include "wave.hpp"

namespace ckgen::emu {

struct BankCycles {
  std::uint32_t cycles = 0;
  std::uint32_t conflicts = 0;  // of those, what the same lanes without any conflict would not take
};

/// `bytes` per lane. `banks`: 32, or 64 of gfx950.
BankCycles bank_cycles(const std::uint32_t* at, LaneMask lanes, unsigned bytes, bool reads, unsigned banks) noexcept;

/// Adds an access to the workgroup's stats.
void count_cycles(Wave& wave, const std::uint32_t* at, LaneMask lanes, unsigned bytes, bool reads) noexcept;

}  // namespace ckgen::emu
