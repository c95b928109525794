#include "program.hpp"

#include "decode.hpp"
#include "launch.hpp"
#include "wave.hpp"

namespace ckgen::emu {
namespace {

void not_executed(Wave& wave, const Inst& inst) {
  wave.launch->findings.add(Rule::unsupported, wave, inst, -1, "this opcode is not executed");
  wave.status = WaveStatus::ended;
}

void end_of_code(Wave& wave, const Inst& inst) {
  wave.launch->findings.add(Rule::bad_code, wave, inst, -1, "no instruction begins here");
  wave.status = WaveStatus::ended;
}

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

/// Whether source `index` may be unwritten: a lane mask that is cut to the lanes outside of EXEC, as compilers merge
/// into undefined ones, and what is saved to a lane, undefined or not.
bool may_be_unwritten(const Inst& inst, unsigned index) {
  if (index != 0) return false;
  return inst.op->name == "v_writelane_b32" || (inst.op->name == "s_andn2_b64" && inst.src[1].code == kExecLo);
}

/// What is read of source `index`: of a pair of packed f32, the half or the halves that op_sel and op_sel_hi name.
Operand read_part(const Inst& inst, unsigned index) {
  Operand one = inst.src[index];
  if (inst.op->format != Format::vop3p || one.dwords != 2) return one;
  const bool moves = inst.op->name == "v_pk_mov_b32";  // the low result is of source 0, the high one of source 1
  if (!moves && !(inst.op->name.starts_with("v_pk_") && inst.op->name.ends_with("_f32"))) return one;
  const unsigned low = inst.op_sel >> index & 1, high = moves ? low : inst.op_sel_hi >> index & 1;
  if (low != high || (!one.scalar() && !one.vector())) return one;
  one.code = static_cast<decltype(one.code)>(one.code + low);
  one.dwords = 1;
  return one;
}

}  // namespace

Footprint footprint_of(const Inst& inst, std::uint16_t traits) {
  Footprint found;
  const auto read = [&](const Operand& one) {
    if (one.present() && one.code != kLiteral && (one.scalar() || one.vector())) found.reads[found.read_count++] = one;
  };
  for (unsigned index = 0; index < inst.src.size(); ++index) {
    const unsigned before = found.read_count;
    read(read_part(inst, index));
    if (found.read_count != before && may_be_unwritten(inst, index))
      found.may_be_unwritten = static_cast<std::uint8_t>(found.may_be_unwritten | 1u << before);
  }
  if ((traits & kHighMayBeUnwritten) != 0 && inst.src[2].vector())
    found.low_half = static_cast<std::int8_t>(found.read_count - 1);
  read(inst.base);
  read(inst.soffset);
  for (const Operand& one : inst.scale) {
    if (found.read_count < found.reads.size()) read(one);
  }
  if ((traits & kReadsDestination) != 0 && found.read_count < found.reads.size()) read(inst.dst);
  if ((traits & kReadsVcc) != 0 && found.read_count < found.reads.size()) read({kVccLo, 2, Number::bits});
  for (const Operand& one : {inst.dst, inst.sdst}) {
    if (one.present()) found.writes[found.write_count++] = one;
  }
  return found;
}

Program Program::bind(std::span<const std::uint8_t> text, std::uint32_t start, std::uint32_t entry,
                      const OpTable& table, bool checked) {
  static const OpInfo kNothing{Format::sopp, 0, "(no instruction)", {}};
  Program program;
  program.start = start;
  program.index_of.assign(text.size() / 4, -1);
  std::size_t at = 0;
  Inst inst;
  while (decode(text, at, start + static_cast<std::uint32_t>(at), table, inst)) {
    const Semantics* known = find_semantics(inst.op->name);
    inst.run = known == nullptr ? not_executed : checked ? known->checked : known->plain;
    program.index_of[at / 4] = static_cast<std::int32_t>(program.insts.size());
    program.insts.push_back(inst);
    const std::uint16_t fixed = known == nullptr ? std::uint16_t{0} : known->traits;
    program.traits.push_back(static_cast<std::uint16_t>(fixed | dynamic_traits(inst)));
    program.classes.push_back(class_of(inst, program.traits.back()));
    program.footprints.push_back(footprint_of(inst, program.traits.back()));
    at += inst.bytes;
  }
  inst = Inst{};
  inst.op = &kNothing;
  inst.run = end_of_code;
  inst.address = start + static_cast<std::uint32_t>(at);
  program.insts.push_back(inst);
  program.traits.push_back(0);
  program.classes.push_back(Class::control);
  program.footprints.push_back({});
  for (Inst& one : program.insts) {
    if (one.op->format == Format::sopp || one.op->name == "s_call_b64")
      one.target = static_cast<std::int32_t>(program.at(std::int64_t{one.address} + 4 + std::int64_t{one.offset} * 4));
  }
  const std::int64_t first = program.at(entry);
  program.entry = first < 0 ? program.insts.size() - 1 : static_cast<std::size_t>(first);
  return program;
}

}  // namespace ckgen::emu
