// The parts of lds_semantics().
#pragma once

#include <span>

#include "semantics.hpp"

namespace ckgen::emu {

std::span<const Semantics> lds_transfer_semantics() noexcept;
std::span<const Semantics> lds_atomic_semantics() noexcept;
std::span<const Semantics> lds_lane_semantics() noexcept;
std::span<const Semantics> lds_transpose_semantics() noexcept;

}  // namespace ckgen::emu
