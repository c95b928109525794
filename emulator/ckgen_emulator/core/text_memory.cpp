#include "text_parts.hpp"

namespace ckgen::emu {
namespace {

void cache_modifiers(Line& line, const Inst& inst) {
  const bool older = inst.op->older_cache_bits;
  line.flag(inst.sc0, older ? "glc" : "sc0");
  line.flag(inst.nt, older ? "slc" : "nt");
  line.flag(inst.sc1, older ? "scc" : "sc1");
}

void operand(Line& line, const Operand& one) {
  if (one.present()) line.operand(operand_text(one, 0));
}

std::string or_off(const Operand& one) {
  return one.present() ? operand_text(one, 0) : "off";
}

void scalar_memory(Line& line, const Inst& inst) {
  const Operand& data = inst.src[1].present() ? inst.src[1] : inst.dst;
  if (inst.op->name.starts_with("s_atc_probe")) {
    line.operand(std::to_string(data.code));
  } else {
    operand(line, data);
  }
  if (!inst.base.present()) return;
  operand(line, inst.base);
  const bool negative = inst.offset < 0;
  const std::string offset =
      (negative ? "-" : "") + hex(static_cast<std::uint32_t>(negative ? -inst.offset : inst.offset));
  if (!inst.soffset.present()) {
    line.operand(offset);
  } else {
    operand(line, inst.soffset);
    if (inst.offset != 0) line.modifier("offset:" + offset);
  }
  line.flag(inst.sc0, "glc");
}

void lds(Line& line, const Inst& inst) {
  operand(line, inst.dst);
  for (const Operand& one : inst.src) operand(line, one);
  if (has_two_offsets(*inst.op)) {
    line.number("offset0", inst.offset);
    line.number("offset1", inst.offset1);
  } else {
    line.number("offset", inst.offset);
  }
}

void flat(Line& line, const Inst& inst) {
  const bool with_scalar = inst.op->format != Format::flat;
  operand(line, inst.dst);
  line.operand(or_off(inst.src[0]));
  operand(line, inst.src[1]);
  if (with_scalar) line.operand(or_off(inst.base));
  line.number("offset", inst.offset);
  cache_modifiers(line, inst);
}

void buffer(Line& line, const Inst& inst) {
  if (inst.base.present()) {
    operand(line, inst.src[1].present() ? inst.src[1] : inst.dst);
    line.operand(or_off(inst.src[0]));
    operand(line, inst.base);
    operand(line, inst.soffset);
    if (inst.op->format == Format::mtbuf) line.modifier("format:" + std::to_string(inst.offset1));
    line.flag(inst.idxen, "idxen");
    line.flag(inst.offen, "offen");
    line.number("offset", inst.offset);
  }
  cache_modifiers(line, inst);
  line.flag(inst.lds, "lds");
}

}  // namespace

void memory_text(Line& line, const Inst& inst) {
  switch (inst.op->format) {
    case Format::smem: return scalar_memory(line, inst);
    case Format::ds: return lds(line, inst);
    case Format::mubuf:
    case Format::mtbuf: return buffer(line, inst);
    default: return flat(line, inst);
  }
}

}  // namespace ckgen::emu
