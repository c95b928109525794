// The double-precision matrix instructions. A lane holds one element of A and one of B.
#include <bit>

#include "float_env.hpp"
#include "lanes.hpp"
#include "launch.hpp"
#include "matrix.hpp"
#include "matrix_vector.hpp"

namespace ckgen::emu {
namespace {

struct alignas(64) LaneDoubles {
  double at[kLanes];
};

LaneDoubles joined(const std::uint32_t* low, const std::uint32_t* high, bool negated) noexcept {
  LaneDoubles all;
  const std::uint64_t sign = negated ? std::uint64_t{1} << 63 : 0;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    all.at[lane] = std::bit_cast<double>((low[lane] | static_cast<std::uint64_t>(high[lane]) << 32) ^ sign);
  return all;
}

void split(const LaneDoubles& values, std::uint32_t* low, std::uint32_t* high) noexcept {
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const auto bits = std::bit_cast<std::uint64_t>(values.at[lane]);
    low[lane] = static_cast<std::uint32_t>(bits);
    high[lane] = static_cast<std::uint32_t>(bits >> 32);
  }
}

/// Two registers of C; a constant is widened.
LaneDoubles accumulators(const Wave& wave, const Inst& inst, Accumulators c, unsigned first, bool negated) noexcept {
  if (c.stride != 0) return joined(c.rows + first * c.stride, c.rows + (first + 1) * c.stride, negated);
  Operand constant = inst.src[2];
  constant.dwords = 2;
  constant.number = Number::f64;
  const double value = std::bit_cast<double>(scalar_value64(wave, inst, constant));
  LaneDoubles all;
  for (double& one : all.at) one = negated ? -value : value;
  return all;
}

/// blgp is neg here, from gfx940 on (LLVM, AMDGPU: "BLGP argument is replaced by NEG bitfield in the DGEMM MFMA").
bool negatable(Wave& wave, const Inst& inst) noexcept {
  if (inst.blgp == 0 || wave.launch->chip.processor.isa != Isa::cdna2) return true;
  wave.launch->findings.add(Rule::unsupported, wave, inst, -1, "blgp of a double-precision matrix instruction");
  wave.status = WaveStatus::ended;
  return false;
}

bool negated(const Inst& inst, unsigned source) noexcept {
  return (inst.blgp >> source & 1) != 0;
}

/// 16x16: the products of rows `first`…`first` + 3; D[i][j] in lane 16 (i % 4) + j of register pair i / 4.
[[gnu::noinline]] void add_four_rows(const LaneDoubles& a, const LaneDoubles& b, unsigned first,
                                     LaneDoubles& sum) noexcept {
  for (unsigned row = 0; row < 4; ++row) {
    for (unsigned j = 0; j < 16; j += kDoubles) {
      Doubles value = load<Doubles>(&sum.at[16 * row + j]);
      for (unsigned k = 0; k < 4; ++k)
        value = multiply_add(broadcast(a.at[16 * k + first + row]), load<Doubles>(&b.at[16 * k + j]), value);
      store(&sum.at[16 * row + j], value);
    }
  }
}

/// 4x4: D[i][j] of a block in lane 16 i + 4 block + j.
[[gnu::noinline]] void add_four_blocks(const LaneDoubles& a, const LaneDoubles& b, unsigned cbsz, unsigned abid,
                                       LaneDoubles& sum) noexcept {
  for (unsigned i = 0; i < 4; ++i) {
    for (unsigned column = 0; column < 16; column += kDoubles) {
      Doubles value = load<Doubles>(&sum.at[16 * i + column]);
      for (unsigned k = 0; k < 4; ++k) {
        Doubles rows;
        for (unsigned lane = 0; lane < kDoubles; ++lane) {
          const unsigned block = (column + lane) / 4;
          rows[lane] = a.at[16 * k + 4 * ((block >> cbsz << cbsz) + abid) + i];
        }
        value = multiply_add(rows, load<Doubles>(&b.at[16 * k + column]), value);
      }
      store(&sum.at[16 * i + column], value);
    }
  }
}

}  // namespace

void mfma_f64_16x16x4(Wave& wave, const Inst& inst) {
  const MatrixOperands operands(wave, inst, 2, 2, 8);
  if (!operands.good() || !negatable(wave, inst)) return;
  const FloatScope scope(kNearest);
  const LaneDoubles a = joined(operands.a()[0], operands.a()[1], negated(inst, 0));
  const LaneDoubles b = joined(operands.b()[0], operands.b()[1], negated(inst, 1));
  for (unsigned part = 0; part < 4; ++part) {
    LaneDoubles sum = accumulators(wave, inst, operands.c(), 2 * part, negated(inst, 2));
    add_four_rows(a, b, 4 * part, sum);
    split(sum, operands.d()[2 * part], operands.d()[2 * part + 1]);
  }
}

void mfma_f64_4x4x4(Wave& wave, const Inst& inst) {
  const MatrixOperands operands(wave, inst, 2, 2, 2);
  if (!operands.good() || !negatable(wave, inst)) return;
  if (inst.cbsz > 2 || inst.abid >> inst.cbsz != 0) {
    wave.launch->findings.add(Rule::unsupported, wave, inst, -1, "cbsz or abid beyond the four blocks");
    wave.status = WaveStatus::ended;
    return;
  }
  const FloatScope scope(kNearest);
  const LaneDoubles a = joined(operands.a()[0], operands.a()[1], negated(inst, 0));
  const LaneDoubles b = joined(operands.b()[0], operands.b()[1], negated(inst, 1));
  LaneDoubles sum = accumulators(wave, inst, operands.c(), 0, negated(inst, 2));
  add_four_blocks(a, b, inst.cbsz, inst.abid, sum);
  split(sum, operands.d()[0], operands.d()[1]);
}

}  // namespace ckgen::emu
