#include <array>
#include <charconv>

#include "text_parts.hpp"

namespace ckgen::emu {
namespace {

constexpr std::uint16_t kXnackMask = 104, kTrapRegisters = 108;
constexpr std::uint16_t kInlineFloats = 240;
constexpr std::string_view kFloatNames[] = {"0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0"};

std::string range(std::string_view file, unsigned first, unsigned dwords) {
  std::string text(file);
  if (dwords <= 1) return text + std::to_string(first);
  return text + "[" + std::to_string(first) + ":" + std::to_string(first + dwords - 1) + "]";
}

/// A pair that has a name: `vcc`, and its halves `vcc_lo`, `vcc_hi`.
std::string named_pair(std::string name, unsigned half, unsigned dwords) {
  if (dwords == 2 && half == 0) return name;
  return name + (half == 0 ? "_lo" : "_hi");
}

std::string scalar_register(std::uint16_t code, unsigned dwords) {
  if (code < kFlatScratch) return range("s", code, dwords);
  if (code < kXnackMask) return named_pair("flat_scratch", code - kFlatScratch, dwords);
  if (code < kVccLo) return named_pair("xnack_mask", code - kXnackMask, dwords);
  if (code < kTrapRegisters) return named_pair("vcc", code - kVccLo, dwords);
  if (code < kM0) return range("ttmp", code - kTrapRegisters, dwords);
  if (code == kM0) return "m0";
  if (code >= kExecLo) return named_pair("exec", code - kExecLo, dwords);
  return "?" + std::to_string(code);
}

/// 1/(2 pi), which the hardware holds in full only for 64-bit operands.
std::string_view inverse_two_pi(unsigned dwords) {
  return dwords == 2 ? "0.15915494309189532" : "0.15915494";
}

bool inlined(const Operand& operand, std::uint32_t literal) {
  const auto value = static_cast<std::int32_t>(literal);
  if (value >= -16 && value <= 64) return true;
  if (operand.dwords == 2) return false;
  const bool half = operand.number == Number::f16 || operand.number == Number::pk_f16;
  constexpr std::array<std::uint32_t, 5> kSingles = {0x3f000000, 0x3f800000, 0x40000000, 0x40800000, 0x3e22f983};
  constexpr std::array<std::uint32_t, 5> kHalves = {0x3800, 0x3c00, 0x4000, 0x4400, 0x3118};
  for (const std::uint32_t one : half ? kHalves : kSingles) {
    const std::uint32_t sign = half ? 0x8000u : 0x80000000u;
    if (literal == one || (literal == (one | sign) && one != kSingles[4] && one != kHalves[4])) return true;
  }
  return false;
}

std::string constant(const Operand& operand, std::uint32_t literal) {
  const std::uint16_t code = operand.code;
  if (code <= 192) return std::to_string(code - kConstants);
  if (code <= 208) return std::to_string(192 - code);
  if (code >= kInlineFloats && code < kInlineFloats + std::size(kFloatNames))
    return std::string(kFloatNames[code - kInlineFloats]);
  switch (code) {
    case 235: return "src_shared_base";
    case 236: return "src_shared_limit";
    case 237: return "src_private_base";
    case 238: return "src_private_limit";
    case 239: return "src_pops_exiting_wave_id";
    case 248: return std::string(inverse_two_pi(operand.dwords));
    case kVccz: return "src_vccz";
    case kExecz: return "src_execz";
    case kScc: return "src_scc";
    case 254: return "src_lds_direct";
    case kLiteral: return inlined(operand, literal) ? "lit(" + hex(literal) + ")" : hex(literal);
    default: return "?" + std::to_string(code);
  }
}

}  // namespace

void Line::operand(std::string_view text) {
  text_ += first_ ? " " : ", ";
  text_ += text;
  first_ = false;
}

void Line::modifier(std::string_view text) {
  text_ += ' ';
  text_ += text;
}

void Line::number(std::string_view name, std::int64_t value) {
  if (value != 0) modifier(std::string(name) + ":" + std::to_string(value));
}

void Line::bits(std::string_view name, unsigned bits, unsigned count, unsigned normal) {
  const unsigned mask = (1u << count) - 1;
  if ((bits & mask) == (normal & mask)) return;
  std::string text = std::string(name) + ":[";
  for (unsigned i = 0; i < count; ++i) {
    text += i == 0 ? "" : ",";
    text += (bits >> i & 1) != 0 ? '1' : '0';
  }
  modifier(text + "]");
}

std::string hex(std::uint64_t value) {
  std::array<char, 18> digits{'0', 'x'};
  const auto end = std::to_chars(digits.data() + 2, digits.data() + digits.size(), value, 16).ptr;
  return {digits.data(), end};
}

std::string operand_text(const Operand& operand, std::uint32_t literal) {
  if (operand.code >= kAgpr) return range("a", operand.code - kAgpr, operand.dwords);
  if (operand.code >= kVgpr) return range("v", operand.code - kVgpr, operand.dwords);
  return operand.scalar() ? scalar_register(operand.code, operand.dwords) : constant(operand, literal);
}

}  // namespace ckgen::emu
