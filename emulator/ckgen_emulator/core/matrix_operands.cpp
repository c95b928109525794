#include <algorithm>
#include <string>

#include "lanes.hpp"
#include "launch.hpp"
#include "matrix.hpp"

namespace ckgen::emu {

MatrixOperands::MatrixOperands(Wave& wave, const Inst& inst, unsigned a, unsigned b, unsigned d) noexcept {
  good_ = registers(wave, inst, inst.src[0], a, "A") && registers(wave, inst, inst.src[1], b, "B") &&
          registers(wave, inst, inst.dst, d, "D") &&
          (!inst.src[2].vector() || registers(wave, inst, inst.src[2], d, "C"));
  if (!good_) return;
  a_ = wave.v + inst.src[0].row();
  b_ = wave.v + inst.src[1].row();
  d_ = wave.v + inst.dst.row();
  accumulators(wave, inst, d);
}

bool MatrixOperands::registers(Wave& wave, const Inst& inst, const Operand& operand, unsigned count,
                               const char* what) noexcept {
  constexpr unsigned bank = kVectorRegisters / 2;  // v or a
  const bool good = operand.vector() && operand.row() < kVectorRegisters && operand.row() % bank + count <= bank;
  if (!good) {
    wave.launch->findings.add(
        Rule::bad_code, wave, inst, -1,
        std::string(what) + " of a matrix instruction: not " + std::to_string(count) + " vector registers");
    wave.status = WaveStatus::ended;
  }
  return good;
}

void MatrixOperands::accumulators(Wave& wave, const Inst& inst, unsigned count) noexcept {
  if (!inst.src[2].vector()) {
    std::fill_n(own_[0], kLanes, scalar_value(wave, inst, inst.src[2]));
    c_ = {own_[0], 0};
    return;
  }
  const unsigned c = inst.src[2].row(), d = inst.dst.row();
  c_ = {wave.v[c], kLanes};
  if (c == d || c + count <= d || d + count <= c) return;
  if (count > 4) {  // so says LLVM's assembler: "source 2 operand must not partially overlap with dst"
    wave.launch->findings.add(Rule::bad_code, wave, inst, -1,
                              "C and D of " + std::to_string(count) + " registers overlap by part: D is undefined");
  }
  for (unsigned row = 0; row < count; ++row) std::copy_n(wave.v[c + row], kLanes, own_[row]);
  c_ = {own_[0], kLanes};
}

}  // namespace ckgen::emu
