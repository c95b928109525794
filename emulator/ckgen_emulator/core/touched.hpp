// Which memory an instruction is about to touch, read off its operands: for who follows values, not for its execution.
#pragma once

#include <array>
#include <cstdint>

#include "wave.hpp"

namespace ckgen::emu {

/// One access of up to 64 lanes. `first`: which byte of the destination is that at `at`, and `data_first`, which of the
/// data. Lanes whose bytes are out of a buffer's range are left out, or have fewer `bytes`.
struct TouchedPart {
  bool lds = false, reads = false, writes = false;
  unsigned first = 0, data_first = 0;
  Operand data;  // of what writes: the registers that hold it; absent where it comes from memory
  LaneMask lanes = 0;
  std::array<std::uint64_t, kLanes> at;
  std::array<std::uint8_t, kLanes> bytes;
};

struct Touched {
  static constexpr unsigned kMost = 8;
  std::array<TouchedPart, kMost> parts;
  unsigned count = 0;
};

/// For the registers as they are before the instruction. Nothing for scratch, scalar memory, and FLAT lanes in LDS or
/// scratch; addresses outside of LDS or of every allocation are given as they are.
void touched_by(const Wave& wave, const Inst& inst, Touched& found) noexcept;

}  // namespace ckgen::emu
