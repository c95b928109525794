#include "hazard.hpp"

#include "launch.hpp"
#include "text_parts.hpp"

namespace ckgen::emu {
namespace {

using Kind = HazardClass::Kind;
constexpr unsigned kLookBack = 5;  // wait states of the vector rules
constexpr std::uint16_t kDwordPart = 6;

RegisterRange scalars_of(const Operand& one) {
  if (!one.scalar() || !one.present()) return {};
  return {one.code, one.dwords};
}

bool any_row(const HazardState::Vector& made, const Operand& one) {
  const RegisterRange rows = rows_of(one);
  return made.rows.overlaps(rows) || made.other_rows.overlaps(rows);
}

bool any_row(const HazardState::Vector& made, const std::span<const Operand> operands) {
  for (const Operand& one : operands) {
    if (any_row(made, one)) return true;
  }
  return false;
}

bool any_scalar(const HazardState::Vector& made, const Operand& one) {
  return made.scalars.overlaps(scalars_of(one));
}

/// The result is moved to its place after it is computed: a part of the register by SDWA or op_sel.
bool shifts_result(const Inst& inst) {
  const HazardClass& one = inst.op->hazard;
  if (inst.special == Special::sdwa) return inst.op->format != Format::vopc && inst.sdwa.dst != kDwordPart;
  if (inst.op->format != Format::vop3) return false;
  return (inst.op_sel & 8) != 0 || (one.is(Kind::byte_result) && (inst.op_sel & 4) != 0) || one.is(Kind::keeps_result);
}

/// Rules about a vector instruction before; `passed` wait states lie between.
class VectorRules {
 public:
  VectorRules(const HazardState& state, const Inst& inst, const Footprint& footprint)
      : inst_(inst),
        kinds_(inst.op->hazard),
        reads_(footprint.reads.data(), footprint.read_count),
        writes_(footprint.writes.data(), footprint.write_count),
        newer_(state.isa != Isa::cdna2),
        newest_(state.isa == Isa::cdna4) {}

  bool after(const HazardState::Vector& made, unsigned passed, Hazard& found) {
    made_ = &made;
    passed_ = passed;
    const char* rule = nullptr;
    unsigned required = 0;
    const auto check = [&](unsigned states, const char* text, auto&& applies) {
      if (rule == nullptr && passed < states && applies()) rule = text, required = states;
    };
    if (kinds_.is(Kind::vmem)) {
      check(5, "a vector instruction writes an SGPR, vector memory reads it", [&] { return reads_scalar(); });
    }
    if (made.inst->op->hazard.is(Kind::dot)) {
      check(3, "a dot product's result is used", [&] { return uses_dot_product(); });
    }
    if (!kinds_.is(Kind::valu)) return hazard(rule, required, found);
    if (kinds_.is(Kind::mfma)) {
      check(2, "a vector instruction's result is read by an MFMA",
            [&] { return !made.inst->op->hazard.is(Kind::dot) && any_row(made, reads_); });
      check(4, "a vector instruction writes EXEC before an MFMA", [&] { return made.writes_exec; });
    }
    if (newer_) forwarding(check);
    constants(check);
    if (inst_.special == Special::dpp) {
      check(2, "a vector instruction's result is read by DPP", [&] { return any_row(made, inst_.src[0]); });
      check(5, "a vector instruction writes EXEC before DPP", [&] { return made.writes_exec; });
    }
    lanes(check);
    return hazard(rule, required, found);
  }

 private:
  bool hazard(const char* rule, unsigned required, Hazard& found) const {
    if (rule != nullptr) found = {rule, made_->inst, required, passed_};
    return rule != nullptr;
  }

  bool reads_scalar() const {
    for (const Operand& one : reads_) {
      if (any_scalar(*made_, one)) return true;
    }
    return false;
  }

  /// A scalar source other than a lane mask.
  bool reads_scalar_constant(bool exec) const {
    const unsigned count = kinds_.is(Kind::masked) ? 2 : 3;
    for (unsigned i = 0; i < count; ++i) {
      const Operand& one = inst_.src[i];
      if (exec ? made_->writes_exec && scalars_of(one).overlaps({kExecLo, 2}) : any_scalar(*made_, one)) return true;
    }
    return false;
  }

  /// The same opcode may accumulate upon it at once.
  bool uses_dot_product() const {
    if (!kinds_.is(Kind::valu | Kind::vmem | Kind::lds)) return false;
    if (inst_.op == made_->inst->op) return any_row(*made_, inst_.src[0]) || any_row(*made_, inst_.src[1]);
    return any_row(*made_, reads_) || (kinds_.is(Kind::valu) && any_row(*made_, writes_));
  }

  template <class Check>
  void forwarding(const Check& check) const {
    check(1, "a transcendental's result is read", [&] {
      return made_->inst->op->hazard.is(Kind::trans) && !kinds_.is(Kind::trans) && any_row(*made_, reads_);
    });
    check(1, "a result that is shifted into a part of its register is used",
          [&] { return made_->shifts_result && (any_row(*made_, reads_) || any_row(*made_, writes_)); });
    if (!newest_ || !kinds_.is(Kind::permlane)) return;
    check(2, "a vector instruction's result is read by v_permlane", [&] { return any_row(*made_, reads_); });
    check(4, "v_cmpx before v_permlane", [&] { return made_->writes_exec; });
  }

  template <class Check>
  void constants(const Check& check) const {
    if (newer_) {
      check(2, "a vector instruction writes an SGPR, another reads it", [&] { return reads_scalar_constant(false); });
      check(2, "v_cmpx before EXEC is read as a number", [&] { return reads_scalar_constant(true); });
    }
    check(5, "a vector instruction writes VCC or EXEC before VCCZ or EXECZ is read", [&] {
      const auto reads = [&](std::uint16_t code) {
        return inst_.src[0].code == code || inst_.src[1].code == code || inst_.src[2].code == code;
      };
      return (made_->scalars.overlaps({kVccLo, 2}) && reads(kVccz)) || (made_->writes_exec && reads(kExecz));
    });
    check(4, "a vector instruction writes VCC before v_div_fmas",
          [&] { return kinds_.is(Kind::div_fmas) && made_->scalars.overlaps({kVccLo, 2}); });
  }

  template <class Check>
  void lanes(const Check& check) const {
    if (!kinds_.is(Kind::lane_select | Kind::reads_lane)) return;
    check(4, "a vector instruction writes an SGPR that selects a lane",
          [&] { return kinds_.is(Kind::lane_select) && any_scalar(*made_, inst_.src[1]); });
    if (!newer_) return;
    check(4, "v_cmpx before a lane is read or written", [&] { return made_->writes_exec; });
    check(1, "a vector instruction's result is read by v_readlane",
          [&] { return kinds_.is(Kind::reads_lane) && any_row(*made_, inst_.src[0]); });
  }

  const Inst& inst_;
  const HazardClass& kinds_;
  std::span<const Operand> reads_, writes_;
  bool newer_, newest_;
  const HazardState::Vector* made_ = nullptr;
  unsigned passed_ = 0;
};

bool vector_hazard(const HazardState& state, const Inst& inst, const Footprint& footprint, Hazard& found) {
  const bool heeds_all = inst.op->hazard.is(Kind::mfma | Kind::lane_select | Kind::reads_lane | Kind::permlane) ||
                         inst.special == Special::dpp;
  if (!heeds_all && state.now - state.special > kLookBack) return false;
  VectorRules rules(state, inst, footprint);
  for (unsigned back = 1; back <= HazardState::kVectors; ++back) {
    const HazardState::Vector& made = state.vectors[(state.vectors_at - back) % HazardState::kVectors];
    const unsigned passed = state.now - made.time - 1;
    if (passed >= kLookBack) break;
    if (rules.after(made, passed, found)) return true;
  }
  return false;
}

/// Data of more than two dwords is read late. A buffer store with an SGPR as its offset takes that time itself.
bool reads_late(const Inst& inst) {
  if (!inst.op->hazard.is(Kind::vmem) || inst.src[1].dwords < 3) return false;
  return !inst.soffset.present() || !inst.soffset.scalar();
}

bool store_hazard(const HazardState& state, const Footprint& footprint, Hazard& found) {
  const unsigned required = state.isa == Isa::cdna2 ? 1 : 2;
  for (const HazardState::Store& one : state.stores) {
    const unsigned passed = state.now - one.time - 1;
    if (passed >= required || one.inst == nullptr) continue;
    for (unsigned i = 0; i < footprint.write_count; ++i) {
      if (!one.data.overlaps(rows_of(footprint.writes[i]))) continue;
      found = {"data of a store is overwritten", one.inst, required, passed};
      return true;
    }
  }
  return false;
}

bool scalar_hazard(const HazardState& state, const Inst& inst, Hazard& found) {
  const HazardClass& kinds = inst.op->hazard;
  const auto since = [&](std::uint32_t time) { return state.now - time - 1; };
  if (kinds.is(Kind::uses_m0) && since(state.m0_written) < 1) {
    found = {"the scalar unit writes M0 just before it is used", nullptr, 1, 0};
    return true;
  }
  if (!kinds.is(Kind::gets_register | Kind::sets_register)) return false;
  const std::uint32_t passed = since(state.register_set[static_cast<std::uint32_t>(inst.offset) & 63]);
  if (passed >= 2) return false;
  found = {"s_setreg of the same hardware register before", nullptr, 2, passed};
  return true;
}

RegisterRange without(const RegisterRange& from, const RegisterRange& part) {
  if (!from.overlaps(part)) return from;
  if (from.first < part.first) return {from.first, static_cast<std::uint16_t>(part.first - from.first)};
  const unsigned end = from.first + from.count, part_end = part.first + part.count;
  if (end <= part_end) return {};
  return {static_cast<std::uint16_t>(part_end), static_cast<std::uint16_t>(end - part_end)};
}

/// What the scalar unit writes is guarded by the hardware, whoever wrote it before.
void forget_scalars(HazardState& state, const RegisterRange& written) {
  if (written.count == 0 || state.now - state.special > kLookBack) return;
  for (HazardState::Vector& one : state.vectors) {
    one.scalars = without(one.scalars, written);
    if (written.overlaps({kExecLo, 1}) && written.overlaps({kExecHi, 1})) one.writes_exec = false;
  }
}

/// Puts an instruction that has issued at `state.now` where later ones look.
void note(HazardState& state, const Inst& inst) {
  const HazardClass& kinds = inst.op->hazard;
  if (kinds.is(Kind::mfma)) {
    HazardState::Matrix& made = state.matrices[state.matrices_at++ % HazardState::kMatrices];
    made = {&inst, state.now, rows_of(inst.dst), accumulator_of(inst), matrix_passes(inst, state.isa)};
    state.matrix_free = state.now + matrix_busy(inst, state.isa);
  } else if (kinds.is(Kind::valu)) {
    const RegisterRange scalars = scalars_of(inst.dst.present() && inst.dst.scalar() ? inst.dst : inst.sdst);
    const bool writes_exec = kinds.is(Kind::writes_exec) || scalars.overlaps({kExecLo, 2});
    const bool shifts = shifts_result(inst);
    HazardState::Vector& made = state.vectors[state.vectors_at++ % HazardState::kVectors];
    made.inst = &inst;  // member by member: a whole one would be put together in memory and read back
    made.time = state.now;
    made.rows = rows_of(inst.dst);
    made.other_rows = kinds.is(Kind::swaps) ? rows_of(inst.src[0]) : RegisterRange{};
    made.scalars = scalars;
    made.writes_exec = writes_exec;
    made.shifts_result = shifts;
    if (scalars.count != 0 || writes_exec || shifts || kinds.is(Kind::trans | Kind::dot)) state.special = state.now;
  } else if (reads_late(inst)) {
    state.stores[state.stores_at++ % HazardState::kStores] = {&inst, state.now, rows_of(inst.src[1])};
  } else if (kinds.is(Kind::scalar_unit)) {
    const RegisterRange written = scalars_of(inst.dst);
    if (written.overlaps({kM0, 1})) state.m0_written = state.now;
    forget_scalars(state, written);
    if (kinds.is(Kind::writes_exec)) forget_scalars(state, {kExecLo, 2});
    if (kinds.is(Kind::sets_register)) state.register_set[static_cast<std::uint32_t>(inst.offset) & 63] = state.now;
  }
  state.now += kinds.is(Kind::nop) ? (static_cast<std::uint32_t>(inst.offset) & 15) + 1 : 1;
}

}  // namespace

std::string Hazard::text() const {
  std::string text =
      std::string(rule) + ": " + std::to_string(required) + " wait states needed, " + std::to_string(found) + " found";
  if (first != nullptr) text += " since " + first->op->name + " at " + hex(first->address);
  return text;
}

bool next_hazard(HazardState& state, const Inst& inst, const Footprint& footprint, Hazard& found) noexcept {
  const HazardClass& kinds = inst.op->hazard;
  bool early = false;
  if (kinds.is(Kind::valu | Kind::vmem | Kind::lds)) {
    const bool waits = kinds.is(Kind::mfma) && static_cast<std::int32_t>(state.matrix_free - state.now) > 0;
    if (waits) state.now = state.matrix_free;
    early = vector_hazard(state, inst, footprint, found) || matrix_hazard(state, inst, footprint, found) ||
            (kinds.is(Kind::valu) && store_hazard(state, footprint, found));
  }
  early = early || scalar_hazard(state, inst, found);
  note(state, inst);
  return early;
}

void check_hazards(Wave& wave, const Inst& inst, const Footprint& footprint, std::uint16_t) noexcept {
  HazardState& state = wave.hazards;
  state.isa = wave.launch->chip.processor.isa;
  Hazard found;
  const bool indexed = wave.gpr_index_mode != 0;  // registers are others than the instruction names
  if (next_hazard(state, inst, footprint, found) && !indexed)
    wave.launch->findings.add(Rule::hazard, wave, inst, -1, found.text());
}

}  // namespace ckgen::emu
