#include <array>

#include "text_parts.hpp"

namespace ckgen::emu {
namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::uint32_t low16(const Inst& inst) {
  return static_cast<std::uint32_t>(inst.offset) & 0xffff;
}

/// Counters at their greatest value are not waited for, and left out unless all are. Fields: CDNA3 ISA, "S_WAITCNT".
std::string wait_counts(std::uint32_t code) {
  constexpr std::uint32_t kUsed = 0xcf7f;
  if ((code & ~kUsed) != 0) return hex(code);
  const std::uint32_t vm = (code & 15) | (code >> 14) << 4, exports = code >> 4 & 7, lgkm = code >> 8 & 15;
  const bool none = vm == 63 && exports == 7 && lgkm == 15;
  std::string text;
  const auto add = [&](const char* name, std::uint32_t value, std::uint32_t most) {
    if (value != most || none)
      text += (text.empty() ? "" : " ") + std::string(name) + "(" + std::to_string(value) + ")";
  };
  add("vmcnt", vm, 63);
  add("expcnt", exports, 7);
  add("lgkmcnt", lgkm, 15);
  return text;
}

std::string hardware_register(std::uint32_t code) {
  const std::uint32_t number = code & 63, offset = code >> 6 & 31, width = (code >> 11) + 1;
  constexpr std::array<const char*, 8> kNames = {nullptr, "MODE",      "STATUS",    "TRAPSTS",
                                                 "HW_ID", "GPR_ALLOC", "LDS_ALLOC", "IB_STS"};
  const bool known = number < kNames.size() && kNames[number] != nullptr;
  std::string text = "hwreg(" + (known ? std::string("HW_REG_") + kNames[number] : std::to_string(number));
  if (offset != 0 || width != 32) text += ", " + std::to_string(offset) + ", " + std::to_string(width);
  return text + ")";
}

std::string gpr_index_mode(std::uint32_t bits) {
  if (bits > 15) return hex(bits);
  constexpr std::array<const char*, 4> kNames = {"SRC0", "SRC1", "SRC2", "DST"};
  std::string text;
  for (unsigned i = 0; i < kNames.size(); ++i) {
    if ((bits >> i & 1) != 0) text += (text.empty() ? "" : ",") + std::string(kNames[i]);
  }
  return "gpr_idx(" + text + ")";
}

void program_control(Line& line, const Inst& inst) {
  const std::string_view name = inst.op->name;
  const std::uint32_t code = low16(inst);
  if (contains(name, "branch")) {
    line.operand(std::to_string(inst.offset));
  } else if (name == "s_waitcnt") {
    line.operand(wait_counts(code));
  } else if (name == "s_set_gpr_idx_mode") {
    line.operand(gpr_index_mode(code));
  } else if (name == "s_sendmsg" || name == "s_sendmsghalt") {
    line.operand(code == 1 ? "sendmsg(MSG_INTERRUPT)" : hex(code));
  } else if (name != "s_endpgm" ? (*inst.op)[Field::simm16].bits != 0 : code != 0) {
    line.operand(std::to_string(code));
  }
}

void with_constant(Line& line, const Inst& inst) {
  const std::string_view name = inst.op->name;
  const Operand& named = inst.dst.present() ? inst.dst : inst.src[0];
  const bool sets = name == "s_setreg_b32";
  if (contains(name, "setreg")) line.operand(hardware_register(low16(inst)));
  if (named.present()) line.operand(operand_text(named, 0));
  if (name == "s_setreg_imm32_b32") {
    line.operand(hex(inst.literal));
  } else if (name == "s_getreg_b32") {
    line.operand(hardware_register(low16(inst)));
  } else if (!sets) {
    const bool unsigned_value = name.ends_with("_u32");
    line.operand(unsigned_value ? std::to_string(low16(inst)) : std::to_string(inst.offset));
  }
}

}  // namespace

void scalar_text(Line& line, const Inst& inst) {
  if (inst.op->format == Format::sopp) return program_control(line, inst);
  if (inst.op->format == Format::sopk) return with_constant(line, inst);
  if (inst.dst.present()) line.operand(operand_text(inst.dst, 0));
  if (inst.op->name == "s_set_gpr_idx_on") {
    line.operand(operand_text(inst.src[0], inst.literal));
    return line.operand(gpr_index_mode(static_cast<std::uint32_t>(inst.offset)));
  }
  for (const Operand& one : inst.src) {
    if (one.present()) line.operand(operand_text(one, inst.literal));
  }
}

}  // namespace ckgen::emu
