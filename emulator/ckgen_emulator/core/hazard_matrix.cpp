// Hazards of matrix results: ISA 7.5 (CDNA3), 7.6 (CDNA4), "VOP3P-Matrix Opcodes Required NOPs".
#include <algorithm>

#include "hazard.hpp"

namespace ckgen::emu {
namespace {

using Kind = HazardClass::Kind;
/// CDNA4's table asks for 20 after 16 passes; LLVM 22, which looks back 19, leaves kernels with 19 and none is known to
/// fail, so that 20 would not be certain.
constexpr unsigned kMostStates = 19;

const HazardClass& class_of(const Inst& inst) {
  return inst.op->hazard;
}

/// Takes the fast path of gfx942; gfx90a makes no difference but for f64.
bool fast(const Inst& inst, Isa isa) {
  const HazardClass& one = class_of(inst);
  return !one.is(Kind::dgemm) && (isa == Isa::cdna2 || !one.is(Kind::sgemm));
}

bool has_8_bits(const Inst& inst) {
  return inst.cbsz < 2 || inst.blgp < 2;
}

/// States until a result can be read as A or B, or by anything that is no MFMA, or be overwritten.
unsigned until_committed(const HazardState::Matrix& made, Isa isa) {
  if (!fast(*made.inst, isa)) return made.passes + 2u;
  return std::min(kMostStates, made.passes + 3u + (isa == Isa::cdna4 && made.passes != 2 ? 1u : 0u));
}

/// States until a result can be accumulated upon, by one that does not start where the result does.
unsigned until_overlapped(const HazardState::Matrix& made, const Inst& next, Isa isa) {
  const bool from_fast = fast(*made.inst, isa), to_fast = fast(next, isa);
  if (isa == Isa::cdna2) return made.passes + (class_of(next).is(Kind::dgemm) ? 1u : 0u);
  if (!from_fast) return to_fast ? 0 : made.passes;
  const bool later = isa == Isa::cdna4 && (to_fast || made.passes != 2);
  return made.passes + 1u + (later ? 1u : 0u);
}

unsigned accumulated(const HazardState::Matrix& made, const Inst& next, bool same, Isa isa) {
  const bool small = made.passes == 4;
  if (class_of(*made.inst).is(Kind::dgemm)) {
    if (fast(next, isa)) return 0;
    if (same) return small && class_of(next).is(Kind::dgemm) ? 4 : 0;
    return small ? 4 : isa == Isa::cdna4 ? 17 : 9;
  }
  if (same) return isa != Isa::cdna2 && made.passes == 2 ? 2 : 0;
  return until_overlapped(made, next, isa);
}

unsigned multiplied(const HazardState::Matrix& made, Isa isa) {
  if (!class_of(*made.inst).is(Kind::dgemm)) return until_committed(made, isa);
  return made.passes == 4 ? 6 : isa == Isa::cdna4 ? 19 : 11;
}

unsigned used(const HazardState::Matrix& made, bool memory, Isa isa) {
  if (!class_of(*made.inst).is(Kind::dgemm)) return until_committed(made, isa);
  if (memory) return made.passes == 4 ? 9 : 18;
  return multiplied(made, isa);
}

unsigned overwritten(const HazardState::Matrix& made, Isa isa) {
  if (!class_of(*made.inst).is(Kind::dgemm)) return until_committed(made, isa);
  return made.passes == 4 ? 6 : 11;
}

class Rules {
 public:
  Rules(const HazardState& state, const Inst& inst, Hazard& found)
      : state_(state), inst_(inst), isa_(state.isa), found_(found) {}

  /// The youngest MFMA that wrote any of `rows`; null if none did in the last states.
  const HazardState::Matrix* writer(const RegisterRange& rows) const {
    if (rows.count == 0) return nullptr;
    return find([&](const HazardState::Matrix& one) { return one.result.overlaps(rows); });
  }
  const HazardState::Matrix* reader(const RegisterRange& rows) const {
    if (rows.count == 0) return nullptr;
    return find(
        [&](const HazardState::Matrix& one) { return one.accumulator.overlaps(rows) && fast(*one.inst, isa_); });
  }

  bool broken(const HazardState::Matrix& made, unsigned required, const char* rule) {
    const unsigned passed = state_.now - made.time - 1;
    if (passed >= required) return false;
    found_ = {rule, made.inst, required, passed};
    return true;
  }

  bool multiply() {
    const RegisterRange accumulator = accumulator_of(inst_);
    if (const auto* made = writer(accumulator)) {
      const bool same = made->result == accumulator;
      if (broken(*made, accumulated(*made, inst_, same, isa_), "an MFMA accumulates upon another's result"))
        return true;
    }
    const bool indexed = class_of(inst_).is(Kind::smfmac);
    for (const Operand* one : {&inst_.src[0], &inst_.src[1], &inst_.src[2], &inst_.scale[0], &inst_.scale[1]}) {
      if (one == &inst_.src[2] && !indexed) continue;
      const auto* made = writer(rows_of(*one));
      if (made != nullptr && broken(*made, multiplied(*made, isa_), "an MFMA's result is a factor of another"))
        return true;
    }
    return false;
  }

  bool use(const Footprint& footprint, bool memory) {
    for (unsigned i = 0; i < footprint.read_count; ++i) {
      const auto* made = writer(rows_of(footprint.reads[i]));
      if (made != nullptr && broken(*made, used(*made, memory, isa_), "an MFMA's result is read")) return true;
    }
    if (memory) return false;
    for (unsigned i = 0; i < footprint.write_count; ++i) {
      const RegisterRange rows = rows_of(footprint.writes[i]);
      const auto* made = writer(rows);
      if (made != nullptr && broken(*made, overwritten(*made, isa_), "an MFMA's result is overwritten")) return true;
      const auto* read = reader(rows);
      if (read != nullptr && broken(*read, read->passes - 1u, "what an MFMA accumulates upon is overwritten"))
        return true;
    }
    return false;
  }

 private:
  template <class Test>
  const HazardState::Matrix* find(const Test& test) const {
    for (unsigned back = 1; back <= HazardState::kMatrices; ++back) {
      const HazardState::Matrix& one = state_.matrices[(state_.matrices_at - back) % HazardState::kMatrices];
      if (state_.now - one.time > kMostStates) return nullptr;
      if (test(one)) return &one;
    }
    return nullptr;
  }

  const HazardState& state_;
  const Inst& inst_;
  Isa isa_;
  Hazard& found_;
};

}  // namespace

std::uint8_t matrix_passes(const Inst& inst, Isa isa) noexcept {
  const HazardClass& one = class_of(inst);
  if (isa == Isa::cdna2) return one.older_passes;
  if (isa == Isa::cdna4 && one.is(Kind::dgemm) && one.passes == 8) return 16;
  if (one.is(Kind::f8f6f4) && one.passes == 8) return has_8_bits(inst) ? 16 : 8;
  return one.passes;
}

std::uint8_t matrix_busy(const Inst& inst, Isa isa) noexcept {
  const std::uint8_t passes = matrix_passes(inst, isa);
  const bool doubled = class_of(inst).is(Kind::f8f6f4) && passes == 4 && has_8_bits(inst);
  return doubled ? 8 : passes;
}

RegisterRange accumulator_of(const Inst& inst) noexcept {
  return rows_of(class_of(inst).is(Kind::smfmac) ? inst.dst : inst.src[2]);
}

bool matrix_hazard(const HazardState& state, const Inst& inst, const Footprint& footprint, Hazard& found) noexcept {
  const HazardClass& one = class_of(inst);
  const std::uint32_t youngest = state.matrices[(state.matrices_at - 1) % HazardState::kMatrices].time;
  if (state.now - youngest > kMostStates) return false;
  Rules rules(state, inst, found);
  if (one.is(Kind::mfma)) return rules.multiply();
  const bool memory = one.is(Kind::vmem | Kind::lds);
  return (memory || one.is(Kind::valu)) && rules.use(footprint, memory);
}

}  // namespace ckgen::emu
