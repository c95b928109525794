// What the matrix instructions share: operands as rows of 64 lanes, and the products of unpacked elements.
//
// D = A * B + C per block. Lane, register and element of every matrix entry, for M x N x K with `blocks` blocks
// ("AMD Matrix Instruction Calculator", gfx9; CDNA3 ISA, 7.1 "Matrix arithmetic instructions"):
//   A[i][k] of block b: lane i + M * (b + blocks * (k / P)), element k % P of that lane, P = K * M * blocks / 64;
//   B[k][j]: the same with j for i.
//   D[i][j], 32 bits: a register holds 64 / N segments of N columns, a segment's four rows lie in four registers;
//   D[i][j], 64 bits: the same with one row per segment.
//
// Arithmetic. f32, f64: one fused multiply-add per k, ascending, nearest even, denormals kept; CDNA3 hardware was found
// to do this bit by bit (arXiv 2511.10909). Everything narrower: the same chain in f32 over exact products. There CDNA3
// sums groups of up to 16 products with 24 fraction bits below the largest and rounds once per group (same paper); of
// CDNA4 nothing is published. So a result may differ from hardware's by roundings, and does not where every partial sum
// is exact. xf32 cuts its inputs to 10 mantissa bits, toward zero (ROCm/rocm-libraries pull request 9176). i8: exact,
// sums wrap at 32 bits. MODE is ignored, EXEC too. gfx90a flushes denormals of f16 and bf16, in and out (MIOpen's
// documentation, "MI200 MFMA behavior specifics"). NaNs' payloads are the host's.
#pragma once

#include <array>
#include <cstdint>

#include "wave.hpp"

namespace ckgen::emu {

constexpr unsigned kMostPerLane = 32;

/// Rows of 64 lanes: row e holds element e of every lane.
struct alignas(64) LaneElements {
  float at[kMostPerLane][kLanes];
};

/// What the elements of A or B are; the order of the first five is that of cbsz and blgp of f8f6f4.
enum class Element : std::uint8_t { fp8, bf8, fp6, bf6, fp4, fp8_fnuz, bf8_fnuz, f32, xf32, f16, bf16, i8 };

/// Registers of `elements` elements per lane.
constexpr unsigned element_dwords(Element type, unsigned elements) noexcept {
  switch (type) {
    case Element::f32:
    case Element::xf32: return elements;
    case Element::f16:
    case Element::bf16: return elements / 2;
    case Element::fp6:
    case Element::bf6: return elements * 6 / 32;
    case Element::fp4: return elements / 8;
    default: return elements / 4;
  }
}

/// Registers from `rows` on, `elements` per lane, as floats. Needs denormals on (MXCSR.DAZ makes them 0).
void unpack(Element type, const LaneValues* rows, unsigned elements, LaneElements& out) noexcept;

/// Where a run of consecutive k begins: offsets into LaneElements of A and B, in floats.
struct KRun {
  std::uint16_t a, b;
};

/// All k in order: `count` runs of `length` rows each.
struct KOrder {
  std::array<KRun, 8> runs;
  unsigned count, length;
};

/// C or D: registers one after the other, `stride` 64; or one row for all of them, `stride` 0.
struct Accumulators {
  const std::uint32_t* rows;
  unsigned stride;
};

/// Adds the products of one instruction to C; D may be C.
using Multiply = void (*)(const LaneElements& a, const LaneElements& b, const KOrder& order, Accumulators c,
                          LaneValues* d) noexcept;

/// For 32x32 (1, 2 blocks), 16x16 (1, 4) and 4x4 (16), f32 results or i32; null for others.
Multiply multiply_of(unsigned m, unsigned blocks, bool integer) noexcept;

/// The products of one K block of 32 are summed, then scaled by 2^(exponent of A's row + of B's column) and added to
/// the accumulator in double, which is rounded to f32 once: no intermediate leaves f32's range that the result is in.
/// Scales: lane i + M * (k / 32) holds that of row i (column for B).
void multiply_scaled(unsigned m, const LaneElements& a, const LaneElements& b, const KOrder& order,
                     const float (&a_scales)[kLanes], const float (&b_scales)[kLanes], Accumulators c,
                     LaneValues* d) noexcept;

/// Operands of a matrix instruction, checked to lie in the register file.
class MatrixOperands {
 public:
  /// Registers that A, B and D take. A finding, and `good` false, where an operand is no vector register or leaves the
  /// file; C may be a constant.
  MatrixOperands(Wave& wave, const Inst& inst, unsigned a, unsigned b, unsigned d) noexcept;

  bool good() const noexcept { return good_; }
  const LaneValues* a() const noexcept { return a_; }
  const LaneValues* b() const noexcept { return b_; }
  Accumulators c() const noexcept { return c_; }
  LaneValues* d() const noexcept { return d_; }

 private:
  bool registers(Wave& wave, const Inst& inst, const Operand& operand, unsigned count, const char* what) noexcept;
  void accumulators(Wave& wave, const Inst& inst, unsigned count) noexcept;

  const LaneValues* a_ = nullptr;
  const LaneValues* b_ = nullptr;
  Accumulators c_{};
  LaneValues* d_ = nullptr;
  bool good_ = false;
  alignas(64) std::uint32_t own_[32][kLanes];  // C where it is a constant, or overlaps D by some registers
};

void mfma_f64_16x16x4(Wave& wave, const Inst& inst);
void mfma_f64_4x4x4(Wave& wave, const Inst& inst);
template <unsigned M, bool Scaled>
void mfma_f8f6f4(Wave& wave, const Inst& inst);

}  // namespace ckgen::emu
