#include "text.hpp"

#include <array>

#include "text_parts.hpp"

namespace ckgen::emu {
namespace {

constexpr std::uint16_t kVop3Only = 448;  // VOP3 opcodes below are those of VOPC, VOP2 and VOP1

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// The mnemonic with the suffix that tells its encodings apart.
std::string mnemonic(const Inst& inst) {
  const OpInfo& op = *inst.op;
  switch (op.format) {
    case Format::vop1:
    case Format::vop2:
    case Format::vopc:
      if (inst.special == Special::dpp) return op.name + "_dpp";
      return op.name + (inst.special == Special::sdwa ? "_sdwa" : "_e32");
    case Format::vop3:
    case Format::vop3sd: return op.number < kVop3Only ? op.name + "_e64" : op.name;
    default: return op.name;
  }
}

/// Source `i` with what is done to it on the way.
std::string source(const Inst& inst, unsigned i) {
  const Operand& one = inst.src[i];
  std::string text = operand_text(one, inst.literal);
  if (inst.special == Special::sdwa && (i == 0 ? inst.sdwa.src0_sext : i == 1 && inst.sdwa.src1_sext))
    text = "sext(" + text + ")";
  if ((inst.abs >> i & 1) != 0) text = "|" + text + "|";
  if ((inst.neg >> i & 1) == 0) return text;
  const bool constant = !one.vector() && !one.scalar();  // "-1.0" would be the constant -1.0
  return constant ? "neg(" + text + ")" : "-" + text;
}

unsigned source_count(const Inst& inst) {
  unsigned count = 0;
  for (const Operand& one : inst.src) count += one.present() ? 1u : 0u;
  return count;
}

void output_modifiers(Line& line, const Inst& inst) {
  constexpr std::array<const char*, 4> kScale = {"", "mul:2", "mul:4", "div:2"};
  line.flag(inst.clamp, "clamp");
  line.flag(inst.omod != 0, kScale[inst.omod & 3]);
}

/// Control words: CDNA3 ISA, table "DPP_CTRL".
std::string dpp_control(unsigned control) {
  if (control < 0x100) {
    std::string text = "quad_perm:[";
    for (unsigned i = 0; i < 4; ++i) text += (i == 0 ? "" : ",") + std::to_string(control >> (2 * i) & 3);
    return text + "]";
  }
  const std::string amount = std::to_string(control & 15);
  switch (control >> 4) {
    case 0x10: return "row_shl:" + amount;
    case 0x11: return "row_shr:" + amount;
    case 0x12: return "row_ror:" + amount;
    case 0x15: return "row_newbcast:" + amount;
    default: break;
  }
  switch (control) {
    case 0x130: return "wave_shl:1";
    case 0x134: return "wave_rol:1";
    case 0x138: return "wave_shr:1";
    case 0x13c: return "wave_ror:1";
    case 0x140: return "row_mirror";
    case 0x141: return "row_half_mirror";
    case 0x142: return "row_bcast:15";
    case 0x143: return "row_bcast:31";
    default: return "dpp_ctrl:" + hex(control);  // no such control
  }
}

void dpp_modifiers(Line& line, const Inst& inst) {
  line.modifier(dpp_control(inst.dpp.control));
  line.modifier("row_mask:" + hex(inst.dpp.row_mask));
  line.modifier("bank_mask:" + hex(inst.dpp.bank_mask));
  line.flag(inst.dpp.bound_control, "bound_ctrl:0");
}

void sdwa_modifiers(Line& line, const Inst& inst) {
  constexpr std::array<const char*, 8> kPart = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3",
                                                "WORD_0", "WORD_1", "DWORD",  "?"};
  constexpr std::array<const char*, 4> kUnused = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE", "?"};
  const auto part = [&](const char* name, unsigned value) { line.modifier(std::string(name) + kPart[value & 7]); };
  output_modifiers(line, inst);
  const bool whole = inst.op->name.starts_with("v_cvt_pk_f32_") || inst.op->name.starts_with("v_cvt_f32_fp8") ||
                     inst.op->name.starts_with("v_cvt_f32_bf8");  // the assembler lets these write all of it only
  if (inst.op->format != Format::vopc && !whole) {
    part("dst_sel:", inst.sdwa.dst);
    line.modifier(std::string("dst_unused:") + kUnused[inst.sdwa.dst_unused & 3]);
  }
  part("src0_sel:", inst.sdwa.src0);
  if (inst.src[1].present()) part("src1_sel:", inst.sdwa.src1);
}

/// VOP3's op_sel bits: one per source, then the destination's. Selections of a byte have two bits, the lower one that
/// of the source after it.
void vop3_modifiers(Line& line, const Inst& inst) {
  const std::string_view name = inst.op->name;
  if (contains(name, "bitop3")) {
    const unsigned table = inst.omod << 6u | inst.abs << 3u | inst.neg;
    if (table != 0) line.modifier("bitop3:" + hex(table));
    return line.bits("op_sel", inst.op_sel, 4);
  }
  if (contains(name, "permlane")) {
    line.flag((inst.op_sel & 2) != 0, "bound_ctrl:1");
    return line.flag((inst.op_sel & 1) != 0, "fi:1");
  }
  const unsigned sources = source_count(inst);
  const bool byte = sources == 2 && (inst.op_sel & 4) != 0;  // of the destination
  const unsigned count = byte ? 4 : sources + 1;
  const unsigned of_sources = inst.op_sel & ((1u << (count - 1)) - 1);
  line.bits("op_sel", of_sources | (inst.op_sel >> 3u & 1u) << (count - 1), count);
  output_modifiers(line, inst);
}

void packed_modifiers(Line& line, const Inst& inst, bool mix) {
  const unsigned sources = source_count(inst);
  line.bits("op_sel", inst.op_sel, sources);
  line.bits("op_sel_hi", inst.op_sel_hi, sources, mix ? 0 : 7);
  if (!mix) {
    line.bits("neg_lo", inst.neg, sources);
    line.bits("neg_hi", inst.neg_hi, sources);
  }
  line.flag(inst.clamp, "clamp");
}

void vector_text(Line& line, const Inst& inst) {
  const Format format = inst.op->format;
  const bool mix = contains(inst.op->name, "_mix");
  Inst plain = inst;
  if (format == Format::vop3p) {  // here negation is a modifier of its own, but for the mixed precision ones
    plain.neg = mix ? inst.neg : 0;
    plain.abs = mix ? inst.neg_hi : 0;
  } else if (contains(inst.op->name, "bitop3")) {
    plain.neg = plain.abs = 0;
  }
  if (inst.dst.present()) line.operand(operand_text(inst.dst, 0));
  if (inst.sdst.present()) line.operand(operand_text(inst.sdst, 0));
  for (unsigned i = 0; i < inst.src.size(); ++i) {
    if (inst.src[i].present()) line.operand(source(plain, i));
  }
  if (format == Format::vop3p) {
    packed_modifiers(line, inst, mix);
  } else if (format == Format::vop3 || format == Format::vop3sd) {
    vop3_modifiers(line, inst);
  } else if (inst.special == Special::dpp) {
    dpp_modifiers(line, inst);
  } else if (inst.special == Special::sdwa) {
    sdwa_modifiers(line, inst);
  }
}

void matrix_text(Line& line, const Inst& inst) {
  line.operand(operand_text(inst.dst, 0));
  for (const Operand& one : inst.src) line.operand(operand_text(one, 0));
  if (inst.op->format == Format::mfma_scale) {
    for (const Operand& one : inst.scale) line.operand(operand_text(one, 0));
    line.bits("op_sel", inst.op_sel, 3);
    line.bits("op_sel_hi", inst.op_sel_hi, 3);
  }
  line.number("cbsz", inst.cbsz);
  if (inst.op->format != Format::mfma_scale) line.number("abid", inst.abid);
  if (contains(inst.op->name, "f64_")) {
    line.bits("neg", inst.blgp, 3);
  } else {
    line.number("blgp", inst.blgp);
  }
}

}  // namespace

std::string text_of(const Inst& inst) {
  if (inst.op == nullptr) return "(no instruction)";
  Line line(mnemonic(inst));
  switch (inst.op->format) {
    case Format::sop1:
    case Format::sop2:
    case Format::sopc:
    case Format::sopk:
    case Format::sopp: scalar_text(line, inst); break;
    case Format::vop1:
    case Format::vop2:
    case Format::vopc:
    case Format::vop3:
    case Format::vop3sd:
    case Format::vop3p: vector_text(line, inst); break;
    case Format::mfma:
    case Format::mfma_scale: matrix_text(line, inst); break;
    default: memory_text(line, inst); break;
  }
  return line.take();
}

}  // namespace ckgen::emu
