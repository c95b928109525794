// The two halves of the scalar ALU's opcodes.
#pragma once

#include <span>

#include "semantics.hpp"

namespace ckgen::emu {

std::span<const Semantics> scalar_arithmetic() noexcept;
/// Branches, waits, barriers, hardware registers: SOPP and what else changes more than SGPRs.
std::span<const Semantics> scalar_control() noexcept;

}  // namespace ckgen::emu
