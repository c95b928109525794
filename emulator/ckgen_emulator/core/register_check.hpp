// Registers, checked around every instruction of a checked run.
#pragma once

#include "program.hpp"
#include "wave.hpp"

namespace ckgen::emu {

/// Before: what it reads was written, and nothing that it reads or writes is still on its way from memory.
void check_registers(Wave& wave, const Inst& inst, const Footprint& footprint, std::uint16_t traits) noexcept;
/// After: what it wrote, for lanes that EXEC had (`exec`, from before the instruction).
void note_writes(Wave& wave, const Footprint& footprint, std::uint16_t traits, LaneMask exec) noexcept;

}  // namespace ckgen::emu
