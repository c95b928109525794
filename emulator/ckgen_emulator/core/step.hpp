// The loop over one wave's instructions.
#pragma once

#include <cstdint>

#include "launch.hpp"

namespace ckgen::emu {

/// Runs until the wave waits, ends or has run `budget` instructions; and, unless it runs `alone`, until it comes to an
/// instruction that other workgroups may see.
void step(Wave& wave, std::uint64_t budget, bool alone);

}  // namespace ckgen::emu
