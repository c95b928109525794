#include "step.hpp"

#include "float_mode.hpp"
#include "hazard.hpp"
#include "origins.hpp"
#include "register_check.hpp"

namespace ckgen::emu {
namespace {

/// What VSKIP keeps from being issued (CDNA3 ISA, 3.6 "Mode register"). It counts as nothing executed.
bool skipped(Class kind) noexcept {
  return kind == Class::vector || kind == Class::matrix || kind == Class::lds || kind == Class::vector_memory;
}

/// Tells who looks on of an instruction that is about to run.
void observe(const Wave& wave, const Inst& inst, std::size_t index) {
  const Launch& launch = *wave.launch;
  if (launch.trace != nullptr) launch.trace->executed(wave, inst);
  if (launch.origins != nullptr) launch.origins->executing(wave, inst, index);
}

template <bool Checked, bool Observed>
void loop(Wave& wave, std::uint64_t budget, bool alone) {
  const Program& program = wave.launch->program;
  for (; budget != 0 && wave.status == WaveStatus::ready; --budget) {
    const std::size_t at = wave.next;
    if (wave.mode.skip_vectors && skipped(program.classes[at])) [[unlikely]] {
      wave.next = at + 1;
      continue;
    }
    const Inst& inst = program.insts[at];
    const std::uint16_t traits = program.traits[at];
    if ((traits & kCommunicates) != 0 && !alone) {
      wave.status = WaveStatus::communicating;
      return;
    }
    wave.next = at + 1;
    if constexpr (Observed) observe(wave, inst, at);
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
    ++wave.group->stats.instructions[static_cast<std::size_t>(program.classes[at])];
  }
}

}  // namespace

void step(Wave& wave, std::uint64_t budget, bool alone) {
  enter_float_mode(wave);
  const bool checked = wave.launch->options.checked;
  if (wave.launch->trace != nullptr || wave.launch->origins != nullptr) {
    checked ? loop<true, true>(wave, budget, alone) : loop<false, true>(wave, budget, alone);
  } else {
    checked ? loop<true, false>(wave, budget, alone) : loop<false, false>(wave, budget, alone);
  }
}

}  // namespace ckgen::emu
