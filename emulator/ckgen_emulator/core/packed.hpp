// What the parts of the packed operations share.
#pragma once

#include "vector_parts.hpp"

namespace ckgen::emu {

std::span<const Semantics> packed_dot_semantics() noexcept;

/// A 16-bit half of a source, as the low or the high result takes it.
void read_packed_u16(const Wave& wave, const Inst& inst, unsigned index, bool high, Row<std::uint32_t>& out) noexcept;
/// The same with neg and MODE's flushing.
void read_packed_f16_bits(const Wave& wave, const Inst& inst, unsigned index, bool high,
                          Row<std::uint32_t>& out) noexcept;

}  // namespace ckgen::emu
