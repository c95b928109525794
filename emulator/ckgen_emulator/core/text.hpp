// An instruction as LLVM's assembler writes it.
#pragma once

#include <string>

#include "inst.hpp"

namespace ckgen::emu {

/// One line that the assembler turns into the same bytes, as far as they mean anything: fields that the hardware
/// ignores are written as 0. Branches show their distance in dwords.
std::string text_of(const Inst& inst);

}  // namespace ckgen::emu
