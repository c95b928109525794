// Operands as 64 lanes: reading sources with their modifiers, writing results under EXEC.
#pragma once

#include <cassert>
#include <cstdint>

#include "wave.hpp"

namespace ckgen::emu {

/// Where FLAT addresses mean LDS or a lane's private segment: the upper 32 bits.
constexpr std::uint64_t kSharedAperture = 0x0001'0000'0000'0000;
constexpr std::uint64_t kPrivateAperture = 0x0002'0000'0000'0000;

/// The 32-bit value of a scalar or constant operand, dword `part` of it; a 64-bit operand's constant is widened as its
/// number type says. Source: CDNA3 ISA, 5.2 "Scalar ALU operands" and 6.2 "Vector ALU operands".
std::uint32_t scalar_value(const Wave& wave, const Inst& inst, const Operand& operand, unsigned part = 0) noexcept;
std::uint64_t scalar_value64(const Wave& wave, const Inst& inst, const Operand& operand) noexcept;

/// One dword of a source in every lane. Points into the register file, or at its own broadcast.
class Lanes {
 public:
  /// Dword `part` of source `index`; DPP and SDWA are applied, neg and abs are not.
  Lanes(const Wave& wave, const Inst& inst, unsigned index, unsigned part = 0) noexcept
      : Lanes(wave, inst, inst.src[index], index, part) {}
  Lanes(const Wave& wave, const Inst& inst, const Operand& operand, unsigned index, unsigned part) noexcept;
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

  std::uint32_t operator[](unsigned lane) const noexcept {
    assert(lane < kLanes);  // costs nothing in a loop over lanes
    return values_[lane];
  }
  const std::uint32_t* data() const noexcept { return values_; }

 private:
  const std::uint32_t* values_;
  alignas(64) std::uint32_t own_[kLanes];
};

/// Lanes that DPP lets write: their source is there, or bound_ctrl makes it 0, and the masks allow them.
LaneMask dpp_lanes(const Wave& wave, const Inst& inst) noexcept;

/// The row of the register file that a destination's dword `part` is, s_set_gpr_idx_on considered.
std::uint32_t* destination(Wave& wave, const Inst& inst, const Operand& operand, unsigned part = 0) noexcept;

/// Writes lanes of `values` where EXEC is set, and for DPP where its source was there; SDWA places its part.
void write_lanes(Wave& wave, const Inst& inst, const std::uint32_t (&values)[kLanes], unsigned part = 0) noexcept;

/// A scalar result of one or two dwords: SGPRs, VCC, M0, EXEC. VCC/EXEC parts allowed.
void write_scalar(Wave& wave, const Operand& operand, std::uint64_t value) noexcept;

/// A lane mask under EXEC: lanes that are off get 0 (VOPC, carry out).
void write_mask(Wave& wave, const Operand& operand, LaneMask value) noexcept;

}  // namespace ckgen::emu
