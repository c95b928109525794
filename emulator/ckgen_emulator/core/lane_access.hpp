// Where the lanes of a memory instruction go, and whether they may.
#pragma once

#include <immintrin.h>

#include <bit>
#include <cstdint>
#include <cstring>

#include "launch.hpp"

namespace ckgen::emu {

/// Host addresses of an access of `size` bytes per lane. Lanes that do not take part have the address of one that does,
/// so that reading all 64 is safe where `lanes` is not empty.
struct LaneAccess {
  alignas(64) std::uint64_t address[kLanes];
  LaneMask lanes = 0;           // all of whose bytes are there
  LaneMask partial = 0;         // of which only the first `dwords` are in the buffer's range
  std::uint8_t dwords[kLanes];  // of partial lanes
};

template <class Visit>
inline void for_each_lane(LaneMask lanes, Visit visit) {
  for (; lanes != 0; lanes &= lanes - 1) visit(static_cast<unsigned>(std::countr_zero(lanes)));
}

/// What an instruction does there. `rows`: registers that a store writes, by which the bytes of a lane are known.
struct Touching {
  Access access = Access::load;
  std::uint32_t number = 0;          // of the operation, in Waits
  const LaneValues* rows = nullptr;  // of a store
  unsigned shift = 0;                // of a store's first byte in its register, bits
};

/// Takes lanes out of `access` that touch what no allocation holds, or write what is read-only; each first one is a
/// finding, in plain runs too. Checked: reads of bytes that nothing has written, and races with other workgroups.
template <bool Checked>
void admit(Wave& wave, const Inst& inst, LaneAccess& access, unsigned size, const Touching& touching);

/// Drops lanes that are not aligned to `alignment`, a power of two, with a finding. Ordinary loads and stores take any
/// byte: HSA runs with unaligned access mode on (LLVM: GCNSubtarget enables it for amdhsa). Atomics, swizzled buffers
/// and loads of dwords to LDS do not.
void require_alignment(Wave& wave, const Inst& inst, LaneAccess& access, unsigned alignment);

/// A row of the vector register file. Memory instructions do not take s_set_gpr_idx_on's index (CDNA3 ISA, 4.6).
inline std::uint32_t* memory_row(const Wave& wave, const Operand& operand, unsigned part = 0) noexcept {
  const unsigned row = operand.row() + part;
  return wave.v[row < kVectorRegisters ? row : kVectorRegisters - 1];
}

/// Writes lanes of a row where `mask` is set.
inline void put_row(std::uint32_t* row, const std::uint32_t* values, LaneMask mask) noexcept {
  if (mask == ~LaneMask{0}) {
    std::memcpy(row, values, kLanes * sizeof *row);
    return;
  }
#ifdef __AVX512F__
  for (unsigned first = 0; first < kLanes; first += 16) {
    _mm512_mask_storeu_epi32(row + first, static_cast<__mmask16>(mask >> first), _mm512_loadu_si512(values + first));
  }
#else
  for (unsigned lane = 0; lane < kLanes; ++lane) row[lane] = (mask >> lane & 1) != 0 ? values[lane] : row[lane];
#endif
}

}  // namespace ckgen::emu
