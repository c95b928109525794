// Branches, waits, barriers, the program counter and the hardware registers. Source: CDNA3 ISA, chapters 4 and 12.
#include <string>

#include "float_mode.hpp"
#include "lanes.hpp"
#include "launch.hpp"
#include "lds.hpp"
#include "scalar.hpp"

namespace ckgen::emu {
namespace {

// Hardware registers, by number.
constexpr unsigned kModeRegister = 1;
constexpr unsigned kStatusRegister = 2;
constexpr unsigned kXccIdRegister = 20;

void nothing(Wave&, const Inst&) {}

void end(Wave& wave, const Inst&) {
  wave.status = WaveStatus::ended;
  land_dma(wave);
  if (wave.launch->options.checked) wave.launch->order.ended(wave);
}

void refuse(Wave& wave, const Inst& inst) {
  wave.launch->findings.add(Rule::unsupported, wave, inst, -1, inst.op->name + " is not executed");
  wave.status = WaveStatus::ended;
}

void go(Wave& wave, const Inst& inst, std::int64_t target) {
  if (target >= 0) {
    wave.next = static_cast<std::size_t>(target);
    return;
  }
  wave.launch->findings.add(Rule::bad_code, wave, inst, -1, "a jump to where no instruction begins");
  wave.status = WaveStatus::ended;
}

template <auto Condition>
void branch(Wave& wave, const Inst& inst) {
  if (Condition(wave)) go(wave, inst, inst.target);
}

std::uint64_t address_after(const Wave& wave, const Inst& inst) {
  return wave.launch->image + inst.address + inst.bytes;
}

void get_pc(Wave& wave, const Inst& inst) {
  write_scalar(wave, inst.dst, address_after(wave, inst));
}

void set_pc(Wave& wave, const Inst& inst) {
  const std::uint64_t address = scalar_value64(wave, inst, inst.src[0]);
  go(wave, inst, wave.launch->program.at(static_cast<std::int64_t>(address - wave.launch->image)));
}

void swap_pc(Wave& wave, const Inst& inst) {
  const std::uint64_t back = address_after(wave, inst);
  set_pc(wave, inst);
  write_scalar(wave, inst.dst, back);
}

void call(Wave& wave, const Inst& inst) {
  get_pc(wave, inst);
  go(wave, inst, inst.target);
}

/// vmcnt in bits 3:0 and 15:14, lgkmcnt in 11:8.
void wait(Wave& wave, const Inst& inst) {
  const auto field = static_cast<std::uint32_t>(inst.offset);
  wave.waits.wait((field & 15) | (field >> 10 & 0x30), field >> 8 & 15);
  land_dma(wave);
}

void barrier(Wave& wave, const Inst&) {
  wave.status = WaveStatus::at_barrier;
}

struct HardwareField {
  unsigned number, shift;
  std::uint32_t mask;  // unshifted

  explicit HardwareField(std::int32_t field)
      : number(static_cast<unsigned>(field) & 63),
        shift(static_cast<unsigned>(field) >> 6 & 31),
        mask(static_cast<std::uint32_t>((std::uint64_t{2} << (static_cast<unsigned>(field) >> 11 & 31)) - 1)) {}
};

void get_register(Wave& wave, const Inst& inst) {
  const HardwareField field(inst.offset);
  std::uint32_t value = 0;
  switch (field.number) {
    case kModeRegister: value = mode_bits(wave.mode); break;
    case kStatusRegister: value = wave.scc; break;
    case kXccIdRegister: value = wave.group->xcd; break;
    default:
      wave.launch->findings.add(Rule::unsupported, wave, inst, -1,
                                "hardware register " + std::to_string(field.number) + " is read as 0");
  }
  write_scalar(wave, inst.dst, value >> field.shift & field.mask);
}

void set_register_to(Wave& wave, const Inst& inst, std::uint32_t value) {
  const HardwareField field(inst.offset);
  if (field.number != kModeRegister) {
    wave.launch->findings.add(Rule::unsupported, wave, inst, -1,
                              "hardware register " + std::to_string(field.number) + " is not written");
    return;
  }
  const std::uint32_t kept = mode_bits(wave.mode) & ~(field.mask << field.shift);
  wave.mode = mode_of(kept | (value & field.mask) << field.shift);
  enter_float_mode(wave);
}

void set_register(Wave& wave, const Inst& inst) {
  set_register_to(wave, inst, scalar_value(wave, inst, inst.src[0]));
}

void set_register_literal(Wave& wave, const Inst& inst) {
  set_register_to(wave, inst, inst.literal);
}

void set_vskip(Wave& wave, const Inst& inst) {
  const std::uint32_t bit = scalar_value(wave, inst, inst.src[1]) & 31;
  wave.mode.skip_vectors = (scalar_value(wave, inst, inst.src[0]) >> bit & 1) != 0;
}

/// M0 becomes index and mode: VGPR numbers get M0[7:0] added where the mode says.
void index_on(Wave& wave, const Inst& inst) {
  const std::uint32_t index = scalar_value(wave, inst, inst.src[0]) & 0xff;
  wave.gpr_index_mode = static_cast<std::uint8_t>(inst.offset & 15);
  wave.s[kM0] = (wave.s[kM0] & ~0xf0ffu) | index | static_cast<std::uint32_t>(wave.gpr_index_mode) << 12;
  wave.shadow.scalar_written[kM0] = true;
}

void index_off(Wave& wave, const Inst&) {
  wave.gpr_index_mode = 0;
}

void index_mode(Wave& wave, const Inst& inst) {
  wave.gpr_index_mode = static_cast<std::uint8_t>(inst.offset & 15);
  wave.s[kM0] = (wave.s[kM0] & ~0xf000u) | static_cast<std::uint32_t>(wave.gpr_index_mode) << 12;
}

void index_value(Wave& wave, const Inst& inst) {
  wave.s[kM0] = (wave.s[kM0] & ~0xffu) | (scalar_value(wave, inst, inst.src[0]) & 0xff);
  wave.shadow.scalar_written[kM0] = true;
}

#define SAME(name, handler, traits) {name, handler, handler, traits}

constexpr Semantics kSemantics[] = {
    SAME("s_nop", nothing, 0),
    SAME("s_sleep", nothing, 0),
    SAME("s_setprio", nothing, 0),
    SAME("s_sethalt", refuse, kRefused),
    SAME("s_trap", refuse, kRefused),
    SAME("s_sendmsg", refuse, kRefused),
    SAME("s_icache_inv", nothing, 0),
    SAME("s_incperflevel", nothing, 0),
    SAME("s_decperflevel", nothing, 0),
    SAME("s_ttracedata", nothing, 0),
    SAME("s_wakeup", nothing, 0),
    SAME("s_endpgm", end, 0),
    SAME("s_waitcnt", wait, 0),
    SAME("s_barrier", barrier, 0),
    SAME("s_branch", branch<[](const Wave&) { return true; }>, kBranch),
    SAME("s_cbranch_scc0", branch<[](const Wave& wave) { return !wave.scc; }>, kBranch),
    SAME("s_cbranch_scc1", branch<[](const Wave& wave) { return wave.scc; }>, kBranch),
    SAME("s_cbranch_vccz", branch<[](const Wave& wave) { return wave.vcc() == 0; }>, kBranch | kReadsVcc),
    SAME("s_cbranch_vccnz", branch<[](const Wave& wave) { return wave.vcc() != 0; }>, kBranch | kReadsVcc),
    SAME("s_cbranch_execz", branch<[](const Wave& wave) { return wave.exec() == 0; }>, kBranch),
    SAME("s_cbranch_execnz", branch<[](const Wave& wave) { return wave.exec() != 0; }>, kBranch),
    SAME("s_getpc_b64", get_pc, 0),
    SAME("s_setpc_b64", set_pc, kBranch),
    SAME("s_swappc_b64", swap_pc, kBranch),
    SAME("s_call_b64", call, kBranch),
    SAME("s_getreg_b32", get_register, 0),
    SAME("s_setreg_b32", set_register, 0),
    SAME("s_setreg_imm32_b32", set_register_literal, 0),
    SAME("s_setvskip", set_vskip, 0),
    SAME("s_set_gpr_idx_on", index_on, 0),
    SAME("s_set_gpr_idx_off", index_off, 0),
    SAME("s_set_gpr_idx_mode", index_mode, 0),
    SAME("s_set_gpr_idx_idx", index_value, 0),
};

#undef SAME

}  // namespace

std::span<const Semantics> scalar_control() noexcept {
  return kSemantics;
}

std::span<const Semantics> scalar_semantics() noexcept {
  static const auto all = [] {
    std::vector<Semantics> joined(scalar_arithmetic().begin(), scalar_arithmetic().end());
    joined.insert(joined.end(), scalar_control().begin(), scalar_control().end());
    return joined;
  }();
  return all;
}

}  // namespace ckgen::emu
