#include "step.hpp"

#include "float_mode.hpp"
#include "hazard.hpp"
#include "register_check.hpp"

namespace ckgen::emu {
namespace {

Class class_of(const Inst& inst, std::uint16_t traits) noexcept {
  if ((traits & kMatrix) != 0) return Class::matrix;
  switch (inst.op->format) {
    case Format::sop1:
    case Format::sop2:
    case Format::sopc:
    case Format::sopk: return Class::scalar;
    case Format::sopp: return Class::control;
    case Format::smem: return Class::scalar_memory;
    case Format::ds: return Class::lds;
    case Format::flat:
    case Format::global:
    case Format::scratch:
    case Format::mubuf:
    case Format::mtbuf: return Class::vector_memory;
    default: return Class::vector;
  }
}

template <bool Checked>
void loop(Wave& wave, std::uint64_t budget, bool alone) {
  const Program& program = wave.launch->program;
  for (; budget != 0 && wave.status == WaveStatus::ready; --budget) {
    const std::size_t at = wave.next;
    const Inst& inst = program.insts[at];
    const std::uint16_t traits = program.traits[at];
    if ((traits & kCommunicates) != 0 && !alone) {
      wave.status = WaveStatus::communicating;
      return;
    }
    wave.next = at + 1;
    if constexpr (Checked) {
      const LaneMask exec = wave.exec();
      check_hazards(wave, inst, program.footprints[at], traits);
      check_registers(wave, inst, program.footprints[at], traits);
      inst.run(wave, inst);
      note_writes(wave, program.footprints[at], traits, exec);
    } else {
      inst.run(wave, inst);
    }
    ++wave.executed;
    ++wave.group->stats.instructions[static_cast<std::size_t>(class_of(inst, traits))];
  }
}

}  // namespace

void step(Wave& wave, std::uint64_t budget, bool alone) {
  enter_float_mode(wave);
  if (wave.launch->options.checked) {
    loop<true>(wave, budget, alone);
  } else {
    loop<false>(wave, budget, alone);
  }
}

}  // namespace ckgen::emu
