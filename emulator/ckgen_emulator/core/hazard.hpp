// Wait states that the hardware does not insert: what ran last, and what must not follow it so soon.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "inst.hpp"
#include "processor.hpp"
#include "program.hpp"

namespace ckgen::emu {

struct Wave;

/// A range of rows of the vector register file, or of the scalar one.
struct RegisterRange {
  std::uint16_t first = 0, count = 0;

  bool overlaps(const RegisterRange& other) const noexcept {
    return count != 0 && other.count != 0 && first < other.first + other.count && other.first < first + count;
  }
  bool operator==(const RegisterRange&) const = default;
};

/// What a wave executed in the last wait states. Time is counted in wait states: one per instruction, N + 1 for
/// `s_nop N`; an MFMA issues when the one before it has gone through its passes. Source of all rules: CDNA3 and CDNA4
/// ISA, 4.5 "Manually Inserted Wait States" and 7.5 / 7.6 "Dependency Resolution: Required Independent Instructions".
struct HazardState {
  struct Vector {
    const Inst* inst = nullptr;
    std::uint32_t time = 0;
    RegisterRange rows, other_rows, scalars;
    bool writes_exec = false, shifts_result = false;
  };
  struct Matrix {
    const Inst* inst = nullptr;
    std::uint32_t time = 0;
    RegisterRange result, accumulator;
    std::uint8_t passes = 0;
  };
  struct Store {
    const Inst* inst = nullptr;
    std::uint32_t time = 0;
    RegisterRange data;
  };
  static constexpr std::uint32_t kStart = 64;  // older than any rule looks back
  static constexpr unsigned kVectors = 8, kMatrices = 16, kStores = 2;

  std::array<Vector, kVectors> vectors;  // rings; the youngest at `…_at` - 1
  std::array<Matrix, kMatrices> matrices;
  std::array<Store, kStores> stores;
  std::uint32_t vectors_at = 0, matrices_at = 0, stores_at = 0;
  std::uint32_t now = kStart;
  std::uint32_t matrix_free = 0;  // when the matrix unit takes the next one
  std::uint32_t m0_written = 0;   // by the scalar unit
  std::uint32_t special = 0;      // the last vector instruction that more than MFMAs, DPP and lane access must heed
  std::array<std::uint32_t, 64> register_set{};  // s_setreg, by hardware register
  Isa isa = Isa::unknown;
};

struct Hazard {
  const char* rule = nullptr;
  const Inst* first = nullptr;  // may be null
  unsigned required = 0, found = 0;

  std::string text() const;
};

/// Whether `inst` comes too soon, and after what; it counts as executed. `state.isa` must be known.
bool next_hazard(HazardState& state, const Inst& inst, const Footprint& footprint, Hazard& found) noexcept;

/// Before every instruction of a checked run: a finding of Rule::hazard where one is certain.
void check_hazards(Wave& wave, const Inst& inst, const Footprint& footprint, std::uint16_t traits) noexcept;

// Of hazard_matrix.cpp.

/// Passes of an MFMA on this chip.
std::uint8_t matrix_passes(const Inst& inst, Isa isa) noexcept;
/// Passes for which it keeps the matrix unit from the next one; at least those above.
std::uint8_t matrix_busy(const Inst& inst, Isa isa) noexcept;
/// Rules about the registers of MFMAs before it.
bool matrix_hazard(const HazardState& state, const Inst& inst, const Footprint& footprint, Hazard& found) noexcept;
/// Where an MFMA accumulates; empty for a constant.
RegisterRange accumulator_of(const Inst& inst) noexcept;

inline RegisterRange rows_of(const Operand& one) noexcept {
  if (!one.vector() || !one.present()) return {};
  return {static_cast<std::uint16_t>(one.row()), one.dwords};
}

}  // namespace ckgen::emu
