#include "lanes.hpp"

#include <algorithm>
#include <bit>

namespace ckgen::emu {
namespace {

constexpr std::uint16_t kSharedBase = 235, kSharedLimit = 236, kPrivateBase = 237, kPrivateLimit = 238;

constexpr float kFloats[] = {0.5f, -0.5f, 1.0f, -1.0f, 2.0f, -2.0f, 4.0f, -4.0f};
constexpr std::uint16_t kHalves[] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400};
constexpr std::uint16_t kBrains[] = {0x3f00, 0xbf00, 0x3f80, 0xbf80, 0x4000, 0xc000, 0x4080, 0xc080};
constexpr float kInverseTwoPi = 0.15915494f;
constexpr std::uint64_t kInverseTwoPi64 = 0x3fc45f306dc9c882;
constexpr std::uint16_t kInverseTwoPi16 = 0x3118, kInverseTwoPiBrain = 0x3e22;

std::uint64_t inline_float(unsigned index, Number number) noexcept {
  const bool two_pi = index == 8;
  switch (number) {
    case Number::f16:
    case Number::pk_f16: return two_pi ? kInverseTwoPi16 : kHalves[index];
    case Number::bf16:
    case Number::pk_bf16: return two_pi ? kInverseTwoPiBrain : kBrains[index];
    case Number::f64:
      return two_pi ? kInverseTwoPi64 : std::bit_cast<std::uint64_t>(static_cast<double>(kFloats[index]));
    default: return std::bit_cast<std::uint32_t>(two_pi ? kInverseTwoPi : kFloats[index]);
  }
}

/// A constant as 64 bits; the low dword is that of a 32-bit operand.
std::uint64_t constant(const Wave& wave, const Inst& inst, const Operand& operand) noexcept {
  const std::uint16_t code = operand.code;
  if (code <= 192) return code - kConstants;                                                   // 0…64
  if (code <= 208) return static_cast<std::uint64_t>(-static_cast<std::int64_t>(code - 192));  // -1…-16
  if (code >= 240 && code <= 248) {
    const Number number = operand.dwords == 2 && operand.number == Number::bits ? Number::f64 : operand.number;
    return inline_float(code - 240u, number);
  }
  switch (code) {
    case kSharedBase: return kSharedAperture;
    case kSharedLimit: return kSharedAperture | 0xffffffff;
    case kPrivateBase: return kPrivateAperture;
    case kPrivateLimit: return kPrivateAperture | 0xffffffff;
    case kVccz: return wave.vcc() == 0;
    case kExecz: return wave.exec() == 0;
    case kScc: return wave.scc;
    case kLiteral:
      if (operand.number == Number::f64) return static_cast<std::uint64_t>(inst.literal) << 32;
      return operand.number == Number::i64
                 ? static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(inst.literal)))
                 : inst.literal;
    default: return 0;
  }
}

/// Lane that a lane of a DPP source reads; -1 if there is none. Source: CDNA3 ISA, table "DPP_CTRL".
int dpp_source(unsigned control, int lane) noexcept {
  const int row = lane & ~15, in_row = lane & 15;
  const auto in = [&](int at) { return at >= 0 && at < 16 ? row + at : -1; };
  if (control <= 0xff) return (lane & ~3) + static_cast<int>(control >> (2 * (lane & 3)) & 3);
  const int amount = static_cast<int>(control & 15);
  switch (control >> 4) {
    case 0x10: return in(in_row + amount);             // row_shl
    case 0x11: return in(in_row - amount);             // row_shr
    case 0x12: return row + ((in_row - amount) & 15);  // row_ror
    case 0x15: return row + amount;                    // row_newbcast
    default: break;
  }
  switch (control) {
    case 0x130: return lane < 63 ? lane + 1 : -1;     // wave_shl
    case 0x134: return (lane + 1) & 63;               // wave_rol
    case 0x138: return lane - 1;                      // wave_shr
    case 0x13c: return (lane - 1) & 63;               // wave_ror
    case 0x140: return row + 15 - in_row;             // row_mirror
    case 0x141: return (lane & ~7) + 7 - (lane & 7);  // row_half_mirror
    case 0x142: return row == 0 ? -1 : row - 1;       // row_bcast15
    case 0x143: return lane < 32 ? -1 : 31;           // row_bcast31
    default: return lane;
  }
}

/// Whether row_mask and bank_mask let a lane write.
bool dpp_enabled(const Dpp& dpp, unsigned lane) noexcept {
  return (dpp.row_mask >> (lane / 16) & 1) != 0 && (dpp.bank_mask >> (lane / 4 % 4) & 1) != 0;
}

std::uint32_t selected(std::uint32_t value, unsigned part, bool extend) noexcept {
  const unsigned bits = part < 4 ? 8 : 16;
  if (part >= 6) return value;
  const std::uint32_t cut = value >> (part < 4 ? 8 * part : 16 * (part - 4)) & ((1u << bits) - 1);
  const std::uint32_t sign = 1u << (bits - 1);
  return extend ? (cut ^ sign) - sign : cut;
}

}  // namespace

std::uint64_t scalar_value64(const Wave& wave, const Inst& inst, const Operand& operand) noexcept {
  if (!operand.scalar()) return constant(wave, inst, operand);
  const std::uint32_t low = wave.s[operand.code];
  const unsigned next = std::min<unsigned>(operand.code + 1u, kConstants - 1);
  return operand.dwords < 2 ? low : low | static_cast<std::uint64_t>(wave.s[next]) << 32;
}

std::uint32_t scalar_value(const Wave& wave, const Inst& inst, const Operand& operand, unsigned part) noexcept {
  if (operand.scalar()) return wave.s[std::min<unsigned>(operand.code + part, kConstants - 1)];
  const std::uint64_t value = constant(wave, inst, operand);
  if (operand.number == Number::pk_f32) return static_cast<std::uint32_t>(value);  // the constant fills both halves
  return static_cast<std::uint32_t>(part == 0 ? value : value >> 32);
}

Lanes::Lanes(const Wave& wave, const Inst& inst, const Operand& operand, unsigned index, unsigned part) noexcept {
  if (!operand.vector()) {
    std::fill_n(own_, kLanes, scalar_value(wave, inst, operand, part));
    values_ = own_;
  } else {
    unsigned row = operand.row() + part;
    if (wave.gpr_index_mode != 0 && (wave.gpr_index_mode >> index & 1) != 0) row += wave.s[kM0] & 0xff;
    values_ = wave.v[std::min(row, kVectorRegisters - 1)];
  }
  if (inst.special == Special::none) return;
  if (inst.special == Special::dpp) {
    if (index != 0) return;
    const std::uint32_t* from = values_;
    alignas(64) std::uint32_t moved[kLanes];
    for (int lane = 0; lane < static_cast<int>(kLanes); ++lane) {
      const int source = dpp_source(inst.dpp.control, lane);
      moved[lane] = source < 0 || (wave.exec() >> source & 1) == 0 ? 0 : from[source];
    }
    std::copy_n(moved, kLanes, own_);
  } else if (index < 2) {
    const unsigned select = index == 0 ? inst.sdwa.src0 : inst.sdwa.src1;
    const bool extend = index == 0 ? inst.sdwa.src0_sext : inst.sdwa.src1_sext;
    const std::uint32_t* from = values_;
    for (unsigned lane = 0; lane < kLanes; ++lane) own_[lane] = selected(from[lane], select, extend);
  } else {
    return;
  }
  values_ = own_;
}

LaneMask dpp_lanes(const Wave& wave, const Inst& inst) noexcept {
  LaneMask mask = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const int source = dpp_source(inst.dpp.control, static_cast<int>(lane));
    const bool there = source >= 0 && (wave.exec() >> source & 1) != 0;
    if ((there || inst.dpp.bound_control) && dpp_enabled(inst.dpp, lane)) mask |= LaneMask{1} << lane;
  }
  return mask;
}

std::uint32_t* destination(Wave& wave, const Inst&, const Operand& operand, unsigned part) noexcept {
  unsigned row = operand.row() + part;
  if ((wave.gpr_index_mode & 8) != 0) row += wave.s[kM0] & 0xff;
  return wave.v[std::min(row, kVectorRegisters - 1)];
}

void write_lanes(Wave& wave, const Inst& inst, const std::uint32_t (&values)[kLanes], unsigned part) noexcept {
  std::uint32_t* to = destination(wave, inst, inst.dst, part);
  LaneMask mask = wave.exec();
  if (inst.special == Special::dpp) mask &= dpp_lanes(wave, inst);
  if (inst.special == Special::sdwa && inst.sdwa.dst < 6) {
    const unsigned bits = inst.sdwa.dst < 4 ? 8 : 16;
    const unsigned shift = inst.sdwa.dst < 4 ? 8u * inst.sdwa.dst : 16u * (inst.sdwa.dst - 4u);
    const std::uint32_t field = (1u << bits) - 1;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      if ((mask >> lane & 1) == 0) continue;
      const std::uint32_t placed = (values[lane] & field) << shift;
      const std::uint32_t above = ~((field << shift) | ((1u << shift) - 1));
      const bool negative = (values[lane] >> (bits - 1) & 1) != 0;
      switch (inst.sdwa.dst_unused) {
        case 0: to[lane] = placed; break;
        case 1: to[lane] = placed | (negative ? above : 0); break;
        default: to[lane] = (to[lane] & ~(field << shift)) | placed; break;
      }
    }
    return;
  }
  if (mask == ~LaneMask{0}) {
    std::copy_n(values, kLanes, to);
    return;
  }
  for (unsigned lane = 0; lane < kLanes; ++lane) to[lane] = (mask >> lane & 1) != 0 ? values[lane] : to[lane];
}

void write_scalar(Wave& wave, const Operand& operand, std::uint64_t value) noexcept {
  wave.s[operand.code] = static_cast<std::uint32_t>(value);
  if (operand.dwords == 2 && operand.code + 1u < kConstants)
    wave.s[operand.code + 1u] = static_cast<std::uint32_t>(value >> 32);
}

void write_mask(Wave& wave, const Operand& operand, LaneMask value) noexcept {
  write_scalar(wave, {operand.code, 2, Number::bits}, value & wave.exec());
}

}  // namespace ckgen::emu
