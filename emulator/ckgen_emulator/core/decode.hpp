// Machine code to Inst, for gfx90a, gfx942 and gfx950.
#pragma once

#include <cstdint>
#include <span>

#include "inst.hpp"

namespace ckgen::emu {

/// The instruction at byte `at` of `text`; `address` becomes its address. False where none of the table begins or the
/// text ends first. Field positions: CDNA3 ISA, chapter 12 ("Microcode Formats"). Handlers are not filled in.
bool decode(std::span<const std::uint8_t> text, std::size_t at, std::uint32_t address, const OpTable& table, Inst& out);

}  // namespace ckgen::emu
