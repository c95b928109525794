// Float and wide operands of vector arithmetic as 64 lanes: sources with neg, abs and op_sel, results with omod, clamp
// and op_sel.
#pragma once

#include <cassert>
#include <cstdint>

#include "float_env.hpp"
#include "lanes.hpp"

namespace ckgen::emu {

/// 64 values of one operand.
template <class T>
struct alignas(64) Row {
  T v[kLanes];

  T& operator[](unsigned lane) noexcept {
    assert(lane < kLanes);  // costs nothing in a loop over lanes
    return v[lane];
  }
  const T& operator[](unsigned lane) const noexcept {
    assert(lane < kLanes);
    return v[lane];
  }
};

/// What a 16-bit result does to the upper half of its register. Most write zeros there; those that GFX9 brought with
/// op_sel (mad, fma, div_fixup, min3, max3, med3, add_i16, sub_i16, bitop3_b16) keep it, their "legacy" twins do not.
/// With op_sel[3] the result goes to the upper half and the lower is kept. Sources: CDNA3 ISA's pseudocode ("D0.f16 ="
/// against "D0 = { 16'0, tmp }"); LLVM's GCNSubtarget::zeroesHigh16BitsOfDest. A kept half is not a read: compilers
/// leave it undefined.
enum class HighHalf : std::uint8_t { zero, keep };

/// Source `index` as f32, neg and abs applied. Denormals are MXCSR's business.
void read_f32(const Wave& wave, const Inst& inst, unsigned index, Row<float>& out) noexcept;
/// The same as bits, denormals flushed if MODE says so: for what compares or moves.
void read_f32_bits(const Wave& wave, const Inst& inst, unsigned index, Row<std::uint32_t>& out) noexcept;
/// The half that op_sel names, as f32 (exact) or as bits; neg, abs and MODE's flushing applied.
void read_f16(const Wave& wave, const Inst& inst, unsigned index, Row<float>& out) noexcept;
void read_f16_bits(const Wave& wave, const Inst& inst, unsigned index, Row<std::uint32_t>& out) noexcept;
void read_f64(const Wave& wave, const Inst& inst, unsigned index, Row<double>& out) noexcept;
void read_f64_bits(const Wave& wave, const Inst& inst, unsigned index, Row<std::uint64_t>& out) noexcept;

/// The half that op_sel names, sign- or zero-extended.
void read_i16(const Wave& wave, const Inst& inst, unsigned index, Row<std::int32_t>& out) noexcept;
void read_u16(const Wave& wave, const Inst& inst, unsigned index, Row<std::uint32_t>& out) noexcept;
void read_u64(const Wave& wave, const Inst& inst, unsigned index, Row<std::uint64_t>& out) noexcept;

/// The destination as a source: for what accumulates.
void read_destination(Wave& wave, const Inst& inst, Row<std::uint32_t>& out, unsigned part = 0) noexcept;

/// Bits of f16's as f32, exact; and f32 to f16's bits, rounded as MODE's round_f16_f64 and flushed as it says.
void widen(const Row<std::uint32_t>& halves, Row<float>& out) noexcept;
void narrow(const Mode& mode, const Row<float>& values, Row<std::uint32_t>& halves) noexcept;

/// Results: omod, then clamp, then the destination.
void write_f32(Wave& wave, const Inst& inst, Row<float>& values, unsigned part = 0) noexcept;
void write_f32_bits(Wave& wave, const Inst& inst, Row<std::uint32_t>& values, unsigned part = 0) noexcept;
void write_f16(Wave& wave, const Inst& inst, Row<float>& values, HighHalf high) noexcept;
void write_f16_bits(Wave& wave, const Inst& inst, Row<std::uint32_t>& values, HighHalf high) noexcept;
void write_f64(Wave& wave, const Inst& inst, Row<double>& values) noexcept;
void write_f64_bits(Wave& wave, const Inst& inst, Row<std::uint64_t>& values) noexcept;

/// 16-bit results as they are, in the half that op_sel[3] names.
void write_half(Wave& wave, const Inst& inst, const Row<std::uint32_t>& values, HighHalf high) noexcept;
void write_u64(Wave& wave, const Inst& inst, const Row<std::uint64_t>& values, unsigned part = 0) noexcept;

/// A lane mask that an operand holds: carry in, condition.
LaneMask read_mask(const Wave& wave, const Inst& inst, const Operand& operand) noexcept;
/// One bit per lane from flags of 0 and 1.
LaneMask mask_of(const Row<std::uint8_t>& flags) noexcept;

/// The f16 clamp and omod of one packed half; `values` are bits.
void finish_f16(const Mode& mode, const Inst& inst, Row<std::uint32_t>& values) noexcept;

}  // namespace ckgen::emu
