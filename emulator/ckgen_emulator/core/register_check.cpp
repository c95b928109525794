#include "register_check.hpp"

#include <bit>
#include <string>

#include "launch.hpp"

namespace ckgen::emu {
namespace {

std::string register_name(unsigned row) {
  return row < 256 ? "v" + std::to_string(row) : "a" + std::to_string(row - 256);
}

std::string scalar_name(unsigned code) {
  switch (code) {
    case kVccLo: return "vcc_lo";
    case kVccHi: return "vcc_hi";
    case kM0: return "m0";
    case kExecLo: return "exec_lo";
    case kExecHi: return "exec_hi";
    default: return "s" + std::to_string(code);
  }
}

/// Waits that are still needed for a register that a memory operation fills.
std::string awaited(const char* counter, std::uint32_t issued, std::uint32_t number) {
  return std::string("s_waitcnt ") + counter + "(" + std::to_string(issued - number) + ")";
}

/// Loads that count in vmcnt alone return in the order of issue: the later one's value stays.
bool loads_by_vmcnt(const Inst& inst) {
  const Format format = inst.op->format;
  return format == Format::mubuf || format == Format::mtbuf || format == Format::global || format == Format::scratch;
}

/// Whether any dword of a vector operand is still on its way, or beyond the file.
bool vector_in_flight(const Wave& wave, const Operand& one) {
  const RegisterShadow& shadow = wave.shadow;
  const unsigned first = one.row(), end = first + one.dwords;
  if (end > kVectorRegisters) return true;
  bool found = false;
  for (unsigned row = first; row < end; ++row)
    found |= (shadow.vm[row] > wave.waits.vm_done) | (shadow.lgkm[row] > wave.waits.lgkm_done);
  return found;
}

void check_in_flight(Wave& wave, const Inst& inst, const Operand& one, bool reads) {
  if (one.vector() && !vector_in_flight(wave, one)) return;
  RegisterShadow& shadow = wave.shadow;
  const Waits& waits = wave.waits;
  const char* verb = reads ? " is read" : " is overwritten";
  const bool after_loads = !reads && loads_by_vmcnt(inst);
  const bool after_lds = !reads && inst.op->format == Format::ds && waits.last_flat <= waits.lgkm_done;
  for (unsigned part = 0; part < one.dwords; ++part) {
    if (one.vector()) {
      const unsigned row = one.row() + part;
      if (row >= kVectorRegisters) return;
      if (shadow.vm[row] > waits.vm_done && !after_loads) {
        wave.launch->findings.add(
            Rule::before_wait, wave, inst, -1,
            register_name(row) + verb + " before " + awaited("vmcnt", waits.vm_issued, shadow.vm[row]));
        shadow.vm[row] = 0;
      }
      if (shadow.lgkm[row] > waits.lgkm_done && !after_lds) {
        wave.launch->findings.add(
            Rule::before_wait, wave, inst, -1,
            register_name(row) + verb + " before " + awaited("lgkmcnt", waits.lgkm_issued, shadow.lgkm[row]));
        shadow.lgkm[row] = 0;
      }
    } else if (one.scalar() && one.code + part < kConstants) {
      std::uint32_t& number = shadow.scalar_lgkm[one.code + part];
      if (number > waits.lgkm_done) {
        wave.launch->findings.add(Rule::before_wait, wave, inst, -1,
                                  scalar_name(one.code + part) + verb + " before s_waitcnt lgkmcnt(0)");
        number = 0;
      }
    }
  }
}

/// Lanes of `exec` in which some dword of a vector operand was never written; all where it is beyond the file.
LaneMask unwritten(const RegisterShadow& shadow, const Operand& one, LaneMask exec) {
  const unsigned first = one.row(), end = first + one.dwords;
  if (end > kVectorRegisters) return ~LaneMask{0};
  LaneMask written = exec;
  for (unsigned row = first; row < end; ++row) written &= shadow.written[row];
  return exec & ~written;
}

void check_written(Wave& wave, const Inst& inst, const Operand& one, LaneMask exec) {
  RegisterShadow& shadow = wave.shadow;
  if (one.vector() && unwritten(shadow, one, exec) == 0) return;
  for (unsigned part = 0; part < one.dwords; ++part) {
    if (one.vector()) {
      const unsigned row = one.row() + part;
      if (row >= kVectorRegisters) {
        wave.launch->findings.add(Rule::bad_code, wave, inst, -1, "a register beyond the file");
        return;
      }
      const LaneMask missing = exec & ~shadow.written[row];
      if (missing != 0) {
        wave.launch->findings.add(
            Rule::uninitialised, wave, inst, std::countr_zero(missing),
            register_name(row) + " was never written in " + std::to_string(std::popcount(missing)) + " lanes");
        shadow.written[row] |= missing;
      }
    } else if (one.scalar() && one.code + part < kConstants && !shadow.scalar_written[one.code + part]) {
      wave.launch->findings.add(Rule::uninitialised, wave, inst, -1,
                                scalar_name(one.code + part) + " was never written");
      shadow.scalar_written[one.code + part] = true;
    }
  }
}

}  // namespace

void check_registers(Wave& wave, const Inst& inst, const Footprint& footprint, std::uint16_t traits) noexcept {
  const LaneMask exec = (traits & kIgnoresExec) != 0 ? ~LaneMask{0} : wave.exec();
  const bool waiting = wave.waits.vm_done != wave.waits.vm_issued || wave.waits.lgkm_done != wave.waits.lgkm_issued;
  for (unsigned i = 0; i < footprint.read_count; ++i) {
    const Operand& one = footprint.reads[i];
    if (waiting) check_in_flight(wave, inst, one, true);
    if (((traits & kOtherLanes) != 0 && !one.scalar()) || (footprint.may_be_unwritten >> i & 1) != 0) continue;
    Operand needed = one;
    if (footprint.low_half == static_cast<int>(i)) needed.dwords = 1;
    check_written(wave, inst, needed, exec);
  }
  if (!waiting) return;
  for (unsigned i = 0; i < footprint.write_count; ++i) check_in_flight(wave, inst, footprint.writes[i], false);
}

void note_writes(Wave& wave, const Footprint& footprint, std::uint16_t traits, LaneMask exec) noexcept {
  const LaneMask lanes = (traits & kIgnoresExec) != 0 ? ~LaneMask{0} : exec;
  auto& written = wave.shadow.written;
  LaneMask unwritten_high = 0;
  if (footprint.low_half >= 0) {
    const unsigned high = footprint.reads[static_cast<std::size_t>(footprint.low_half)].row() + 1;
    if (high < kVectorRegisters) unwritten_high = lanes & ~written[high];
  }
  for (unsigned i = 0; i < footprint.write_count; ++i) {
    const Operand& one = footprint.writes[i];
    for (unsigned part = 0; part < one.dwords; ++part) {
      if (one.vector()) {
        const unsigned row = one.row() + part;
        if (row >= kVectorRegisters || (traits & kNotesWrites) != 0) continue;
        written[row] |= lanes;
        if (part == 1) written[row] &= ~unwritten_high;
      } else if (one.code + part < kConstants) {
        wave.shadow.scalar_written[one.code + part] = true;
      }
    }
  }
}

}  // namespace ckgen::emu
