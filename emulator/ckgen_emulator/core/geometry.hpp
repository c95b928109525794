// Whether a chip takes a dispatch of a kernel at all.
#pragma once

#include <cstdint>
#include <string>

#include "launch.hpp"

namespace ckgen::emu {

enum class Refused : std::uint8_t { no, geometry, resources };

/// Why a dispatch is refused; `what` has the numbers.
struct Refusal {
  Refused why = Refused::no;
  std::string what;
};

/// geometry: an axis without work-items or with more than 2^32 - 1 of them, a workgroup with more than 1024 or than the
/// kernel's .max_flat_workgroup_size; resources: no compute unit has the LDS or the registers of one workgroup, or
/// the waves that the chip holds need more scratch than one buffer has.
Refusal refusal_of(const Kernel& kernel, const Chip& chip, const Dispatch& dispatch);

}  // namespace ckgen::emu
