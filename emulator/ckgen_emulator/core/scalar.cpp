// SOP1, SOP2, SOPC and SOPK. Source of the semantics: CDNA3 ISA, chapter 12.
#include <bit>
#include <limits>

#include "lanes.hpp"
#include "launch.hpp"
#include "scalar.hpp"

namespace ckgen::emu {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

constexpr i32 s32(u32 value) {
  return static_cast<i32>(value);
}
constexpr i64 s64(u64 value) {
  return static_cast<i64>(value);
}

u64 source(const Wave& wave, const Inst& inst, unsigned index) {
  return scalar_value64(wave, inst, inst.src[index]);
}

enum class Scc : bool { kept, nonzero };

template <class T, Scc Set, auto F>
void unary(Wave& wave, const Inst& inst) {
  const auto value = F(static_cast<T>(source(wave, inst, 0)));
  if constexpr (Set == Scc::nonzero) wave.scc = value != 0;
  write_scalar(wave, inst.dst, static_cast<u64>(value));
}

template <class T, Scc Set, auto F>
void binary(Wave& wave, const Inst& inst) {
  const auto value = F(static_cast<T>(source(wave, inst, 0)), static_cast<T>(source(wave, inst, 1)));
  if constexpr (Set == Scc::nonzero) wave.scc = value != 0;
  write_scalar(wave, inst.dst, static_cast<u64>(value));
}

/// F(a, b, scc) gives the value and changes scc.
template <auto F>
void carrying(Wave& wave, const Inst& inst) {
  const u32 a = static_cast<u32>(source(wave, inst, 0)), b = static_cast<u32>(source(wave, inst, 1));
  write_scalar(wave, inst.dst, F(a, b, wave.scc));
}

template <class T, auto F>
void compare(Wave& wave, const Inst& inst) {
  wave.scc = F(static_cast<T>(source(wave, inst, 0)), static_cast<T>(source(wave, inst, 1)));
}

template <class T, auto F>
void compare_immediate(Wave& wave, const Inst& inst) {
  const T immediate = std::is_signed_v<T> ? static_cast<T>(inst.offset) : static_cast<T>(inst.offset & 0xffff);
  wave.scc = F(static_cast<T>(source(wave, inst, 0)), immediate);
}

void store_immediate(Wave& wave, const Inst& inst) {
  write_scalar(wave, inst.dst, static_cast<u32>(inst.offset));
}

void move_immediate_if(Wave& wave, const Inst& inst) {
  if (wave.scc) store_immediate(wave, inst);
}

void add_immediate(Wave& wave, const Inst& inst) {
  i32 value;
  wave.scc = __builtin_add_overflow(s32(static_cast<u32>(source(wave, inst, 0))), inst.offset, &value);
  write_scalar(wave, inst.dst, static_cast<u32>(value));
}

void multiply_immediate(Wave& wave, const Inst& inst) {
  write_scalar(wave, inst.dst, static_cast<u32>(source(wave, inst, 0)) * static_cast<u32>(inst.offset));
}

void move_if(Wave& wave, const Inst& inst) {
  if (wave.scc) write_scalar(wave, inst.dst, source(wave, inst, 0));
}

void select(Wave& wave, const Inst& inst) {
  write_scalar(wave, inst.dst, source(wave, inst, wave.scc ? 0 : 1));
}

template <u64 Mask>
void set_bit(Wave& wave, const Inst& inst) {
  const u64 bit = u64{1} << (source(wave, inst, 0) & (inst.dst.dwords == 2 ? 63 : 31));
  const u64 old = scalar_value64(wave, inst, inst.dst);
  write_scalar(wave, inst.dst, Mask != 0 ? old | bit : old & ~bit);
}

/// EXEC becomes F(source, EXEC); the old one goes to the destination.
template <auto F>
void save_exec(Wave& wave, const Inst& inst) {
  const u64 value = source(wave, inst, 0), old = wave.exec();
  const u64 fresh = F(value, old);
  wave.set_pair(kExecLo, fresh);
  write_scalar(wave, inst.dst, old);
  wave.scc = fresh != 0;
}

/// EXEC and the destination become F(source, EXEC).
template <auto F>
void write_exec(Wave& wave, const Inst& inst) {
  const u64 fresh = F(source(wave, inst, 0), wave.exec());
  wave.set_pair(kExecLo, fresh);
  write_scalar(wave, inst.dst, fresh);
  wave.scc = fresh != 0;
}

template <class T>
i32 first_bit(T value, bool one) {
  const T wanted = one ? value : static_cast<T>(~value);
  return wanted == 0 ? -1 : std::countr_zero(wanted);
}

template <class T>
i32 leading(T value) {
  return value == 0 ? -1 : std::countl_zero(value);
}

/// Leading bits equal to the sign; -1 if all are.
template <class T>
i32 leading_sign(T value) {
  constexpr int kBits = std::numeric_limits<T>::digits;
  const T other = (value >> (kBits - 1)) != 0 ? static_cast<T>(~value) : value;
  return other == 0 ? -1 : std::countl_zero(other);
}

template <class T>
T reversed(T value) {
  T result = 0;
  for (int bit = 0; bit < std::numeric_limits<T>::digits; ++bit)
    result = static_cast<T>(result << 1 | (value >> bit & 1));
  return result;
}

template <unsigned Size>
u64 whole_groups(u64 value) {
  u64 result = 0;
  constexpr u64 kGroup = (u64{1} << Size) - 1;
  for (unsigned at = 0; at < 64; at += Size) {
    if ((value >> at & kGroup) != 0) result |= kGroup << at;
  }
  return result;
}

u64 quads(u64 value) {
  u64 result = 0;
  for (unsigned at = 0; at < 16; ++at) result |= static_cast<u64>((value >> (4 * at) & 15) != 0) << at;
  return result;
}

u64 doubled_bits(u64 value) {
  u64 result = 0;
  for (unsigned bit = 0; bit < 32; ++bit) result |= (value >> bit & 1) * (u64{3} << (2 * bit));
  return result;
}

template <class T>
T bit_field(T value, u32 control) {
  constexpr unsigned kBits = sizeof(T) * 8;
  const unsigned offset = control & (kBits - 1);
  const unsigned width = control >> 16 & 127;
  if (width == 0) return 0;
  using U = std::make_unsigned_t<T>;
  const T shifted = static_cast<T>(value >> offset);
  if (width >= kBits) return shifted;
  const unsigned rest = kBits - width;
  return static_cast<T>(static_cast<T>(static_cast<U>(shifted) << rest) >> rest);
}

template <class T, class Signed>
void extract(Wave& wave, const Inst& inst) {
  const auto value = bit_field(static_cast<Signed>(source(wave, inst, 0)), static_cast<u32>(source(wave, inst, 1)));
  wave.scc = value != 0;
  write_scalar(wave, inst.dst, static_cast<T>(value));
}

template <class T, auto F>
void shift(Wave& wave, const Inst& inst) {
  const unsigned amount = static_cast<unsigned>(source(wave, inst, 1)) & (sizeof(T) * 8 - 1);
  const auto value = F(static_cast<T>(source(wave, inst, 0)), amount);
  wave.scc = value != 0;
  write_scalar(wave, inst.dst, static_cast<u64>(value));
}

template <class T>
void mask_of(Wave& wave, const Inst& inst) {
  constexpr unsigned kLimit = sizeof(T) * 8 - 1;
  const T ones = static_cast<T>((T{1} << (source(wave, inst, 0) & kLimit)) - 1);
  write_scalar(wave, inst.dst, static_cast<T>(ones << (source(wave, inst, 1) & kLimit)));
}

template <unsigned Shift>
void shift_add(Wave& wave, const Inst& inst) {
  const u64 sum = ((source(wave, inst, 0) & 0xffffffff) << Shift) + (source(wave, inst, 1) & 0xffffffff);
  wave.scc = sum >> 32 != 0;
  write_scalar(wave, inst.dst, static_cast<u32>(sum));
}

template <unsigned First, unsigned Second>
void pack(Wave& wave, const Inst& inst) {
  const u32 a = static_cast<u32>(source(wave, inst, 0)) >> First & 0xffff;
  const u32 b = static_cast<u32>(source(wave, inst, 1)) >> Second & 0xffff;
  write_scalar(wave, inst.dst, a | b << 16);
}

/// s_movrels and s_movreld: M0 is added to the register's number.
void move_relative(Wave& wave, const Inst& inst) {
  Operand from = inst.src[0], to = inst.dst;
  Operand& moved = inst.op->name.starts_with("s_movrels") ? from : to;
  moved.code = static_cast<std::uint16_t>(moved.code + wave.s[kM0]);
  if (moved.code + moved.dwords > kVccLo) {
    wave.launch->findings.add(Rule::bad_code, wave, inst, -1, "M0 leads beyond the scalar registers");
    return;
  }
  write_scalar(wave, to, scalar_value64(wave, inst, from));
}

constexpr auto kAnd = [](u64 a, u64 b) { return a & b; };
constexpr auto kOr = [](u64 a, u64 b) { return a | b; };
constexpr auto kXor = [](u64 a, u64 b) { return a ^ b; };
constexpr auto kAndNot = [](u64 a, u64 b) { return a & ~b; };
constexpr auto kNotAnd = [](u64 a, u64 b) { return ~a & b; };
constexpr auto kOrNot = [](u64 a, u64 b) { return a | ~b; };
constexpr auto kNotOr = [](u64 a, u64 b) { return ~a | b; };
constexpr auto kNand = [](u64 a, u64 b) { return ~(a & b); };
constexpr auto kNor = [](u64 a, u64 b) { return ~(a | b); };
constexpr auto kXnor = [](u64 a, u64 b) { return ~(a ^ b); };

template <auto F>
constexpr auto low = [](u32 a, u32 b) { return static_cast<u32>(F(a, b)); };

constexpr auto kEq = [](auto a, auto b) { return a == b; };
constexpr auto kNe = [](auto a, auto b) { return a != b; };
constexpr auto kGt = [](auto a, auto b) { return a > b; };
constexpr auto kGe = [](auto a, auto b) { return a >= b; };
constexpr auto kLt = [](auto a, auto b) { return a < b; };
constexpr auto kLe = [](auto a, auto b) { return a <= b; };

template <class T>
constexpr auto same = [](T a) { return a; };
template <class T>
constexpr auto inverted = [](T a) { return static_cast<T>(~a); };

/// SCC of min and max: whether the first source is the result.
template <class T, auto F>
void extreme(Wave& wave, const Inst& inst) {
  const T a = static_cast<T>(source(wave, inst, 0)), b = static_cast<T>(source(wave, inst, 1));
  wave.scc = F(a, b);
  write_scalar(wave, inst.dst, static_cast<u32>(wave.scc ? a : b));
}

constexpr auto kAdd = [](u32 a, u32 b, bool& scc) {
  const u64 sum = u64{a} + b;
  scc = sum >> 32 != 0;
  return static_cast<u32>(sum);
};
constexpr auto kSub = [](u32 a, u32 b, bool& scc) {
  scc = b > a;
  return a - b;
};
constexpr auto kAddSigned = [](u32 a, u32 b, bool& scc) {
  i32 sum;
  scc = __builtin_add_overflow(s32(a), s32(b), &sum);
  return static_cast<u32>(sum);
};
constexpr auto kSubSigned = [](u32 a, u32 b, bool& scc) {
  i32 rest;
  scc = __builtin_sub_overflow(s32(a), s32(b), &rest);
  return static_cast<u32>(rest);
};
constexpr auto kAddCarry = [](u32 a, u32 b, bool& scc) {
  const u64 sum = u64{a} + b + scc;
  scc = sum >> 32 != 0;
  return static_cast<u32>(sum);
};
constexpr auto kSubBorrow = [](u32 a, u32 b, bool& scc) {
  const u64 taken = u64{b} + scc;
  scc = taken > a;
  return static_cast<u32>(a - taken);
};

#define ONE(name, handler, ...) {name, handler, handler __VA_OPT__(, ) __VA_ARGS__}
#define BOTH_WIDTHS(name, F) \
  ONE(name "_b32", (binary<u32, Scc::nonzero, low<F>>)), ONE(name "_b64", (binary<u64, Scc::nonzero, F>))
#define COMPARISON(name, F)                                                                   \
  ONE("s_cmp_" name "_i32", (compare<i32, F>)), ONE("s_cmp_" name "_u32", (compare<u32, F>)), \
      ONE("s_cmpk_" name "_i32", (compare_immediate<i32, F>)), ONE("s_cmpk_" name "_u32", (compare_immediate<u32, F>))
#define EXEC_OP(name, F) ONE("s_" name "_saveexec_b64", (save_exec<F>))

constexpr Semantics kSemantics[] = {
    ONE("s_mov_b32", (unary<u32, Scc::kept, same<u32>>)),
    ONE("s_mov_b64", (unary<u64, Scc::kept, same<u64>>)),
    ONE("s_cmov_b32", move_if, kReadsDestination),
    ONE("s_cmov_b64", move_if, kReadsDestination),
    ONE("s_not_b32", (unary<u32, Scc::nonzero, inverted<u32>>)),
    ONE("s_not_b64", (unary<u64, Scc::nonzero, inverted<u64>>)),
    ONE("s_wqm_b32", (unary<u32, Scc::nonzero, [](u32 a) { return static_cast<u32>(whole_groups<4>(a)); }>)),
    ONE("s_wqm_b64", (unary<u64, Scc::nonzero, [](u64 a) { return whole_groups<4>(a); }>)),
    ONE("s_quadmask_b32", (unary<u32, Scc::nonzero, [](u32 a) { return quads(a); }>)),
    ONE("s_quadmask_b64", (unary<u64, Scc::nonzero, [](u64 a) { return quads(a); }>)),
    ONE("s_brev_b32", (unary<u32, Scc::kept, [](u32 a) { return reversed(a); }>)),
    ONE("s_brev_b64", (unary<u64, Scc::kept, [](u64 a) { return reversed(a); }>)),
    ONE("s_bcnt0_i32_b32", (unary<u32, Scc::nonzero, [](u32 a) { return std::popcount(static_cast<u32>(~a)); }>)),
    ONE("s_bcnt0_i32_b64", (unary<u64, Scc::nonzero, [](u64 a) { return std::popcount(~a); }>)),
    ONE("s_bcnt1_i32_b32", (unary<u32, Scc::nonzero, [](u32 a) { return std::popcount(a); }>)),
    ONE("s_bcnt1_i32_b64", (unary<u64, Scc::nonzero, [](u64 a) { return std::popcount(a); }>)),
    ONE("s_ff0_i32_b32", (unary<u32, Scc::kept, [](u32 a) { return first_bit(a, false); }>)),
    ONE("s_ff0_i32_b64", (unary<u64, Scc::kept, [](u64 a) { return first_bit(a, false); }>)),
    ONE("s_ff1_i32_b32", (unary<u32, Scc::kept, [](u32 a) { return first_bit(a, true); }>)),
    ONE("s_ff1_i32_b64", (unary<u64, Scc::kept, [](u64 a) { return first_bit(a, true); }>)),
    ONE("s_flbit_i32_b32", (unary<u32, Scc::kept, [](u32 a) { return leading(a); }>)),
    ONE("s_flbit_i32_b64", (unary<u64, Scc::kept, [](u64 a) { return leading(a); }>)),
    ONE("s_flbit_i32", (unary<u32, Scc::kept, [](u32 a) { return leading_sign(a); }>)),
    ONE("s_flbit_i32_i64", (unary<u64, Scc::kept, [](u64 a) { return leading_sign(a); }>)),
    ONE("s_sext_i32_i8", (unary<u32, Scc::kept, [](u32 a) { return static_cast<u32>(s32(a << 24) >> 24); }>)),
    ONE("s_sext_i32_i16", (unary<u32, Scc::kept, [](u32 a) { return static_cast<u32>(s32(a << 16) >> 16); }>)),
    ONE("s_abs_i32", (unary<u32, Scc::nonzero, [](u32 a) { return s32(a) < 0 ? 0 - a : a; }>)),
    ONE("s_bitset0_b32", set_bit<0>, kReadsDestination),
    ONE("s_bitset0_b64", set_bit<0>, kReadsDestination),
    ONE("s_bitset1_b32", set_bit<1>, kReadsDestination),
    ONE("s_bitset1_b64", set_bit<1>, kReadsDestination),
    ONE("s_bitreplicate_b64_b32", (unary<u32, Scc::kept, [](u32 a) { return doubled_bits(a); }>)),
    ONE("s_movrels_b32", move_relative),
    ONE("s_movrels_b64", move_relative),
    ONE("s_movreld_b32", move_relative),
    ONE("s_movreld_b64", move_relative),
    EXEC_OP("and", kAnd),
    EXEC_OP("or", kOr),
    EXEC_OP("xor", kXor),
    EXEC_OP("andn2", kAndNot),
    EXEC_OP("orn2", kOrNot),
    EXEC_OP("nand", kNand),
    EXEC_OP("nor", kNor),
    EXEC_OP("xnor", kXnor),
    EXEC_OP("andn1", kNotAnd),
    EXEC_OP("orn1", kNotOr),
    ONE("s_andn1_wrexec_b64", (write_exec<kNotAnd>)),
    ONE("s_andn2_wrexec_b64", (write_exec<kAndNot>)),

    ONE("s_add_u32", carrying<kAdd>),
    ONE("s_sub_u32", carrying<kSub>),
    ONE("s_add_i32", carrying<kAddSigned>),
    ONE("s_sub_i32", carrying<kSubSigned>),
    ONE("s_addc_u32", carrying<kAddCarry>),
    ONE("s_subb_u32", carrying<kSubBorrow>),
    ONE("s_min_i32", (extreme<i32, kLt>)),
    ONE("s_min_u32", (extreme<u32, kLt>)),
    ONE("s_max_i32", (extreme<i32, kGt>)),
    ONE("s_max_u32", (extreme<u32, kGt>)),
    ONE("s_cselect_b32", select),
    ONE("s_cselect_b64", select),
    BOTH_WIDTHS("s_and", kAnd),
    BOTH_WIDTHS("s_or", kOr),
    BOTH_WIDTHS("s_xor", kXor),
    BOTH_WIDTHS("s_andn2", kAndNot),
    BOTH_WIDTHS("s_orn2", kOrNot),
    BOTH_WIDTHS("s_nand", kNand),
    BOTH_WIDTHS("s_nor", kNor),
    BOTH_WIDTHS("s_xnor", kXnor),
    ONE("s_lshl_b32", (shift<u32, [](u32 a, unsigned n) { return a << n; }>)),
    ONE("s_lshl_b64", (shift<u64, [](u64 a, unsigned n) { return a << n; }>)),
    ONE("s_lshr_b32", (shift<u32, [](u32 a, unsigned n) { return (a >> n); }>)),
    ONE("s_lshr_b64", (shift<u64, [](u64 a, unsigned n) { return (a >> n); }>)),
    ONE("s_ashr_i32", (shift<u32, [](u32 a, unsigned n) { return static_cast<u32>((s32(a) >> n)); }>)),
    ONE("s_ashr_i64", (shift<u64, [](u64 a, unsigned n) { return static_cast<u64>((s64(a) >> n)); }>)),
    ONE("s_bfm_b32", mask_of<u32>),
    ONE("s_bfm_b64", mask_of<u64>),
    ONE("s_mul_i32", (binary<u32, Scc::kept, [](u32 a, u32 b) { return a * b; }>)),
    ONE("s_mul_hi_u32", (binary<u32, Scc::kept, [](u32 a, u32 b) { return static_cast<u32>(u64{a} * b >> 32); }>)),
    ONE("s_mul_hi_i32",
        (binary<u32, Scc::kept, [](u32 a, u32 b) { return static_cast<u32>(i64{s32(a)} * s32(b) >> 32); }>)),
    ONE("s_bfe_u32", (extract<u32, u32>)),
    ONE("s_bfe_i32", (extract<u32, i32>)),
    ONE("s_bfe_u64", (extract<u64, u64>)),
    ONE("s_bfe_i64", (extract<u64, i64>)),
    ONE("s_absdiff_i32", (binary<u32, Scc::nonzero, [](u32 a, u32 b) { return s32(a - b) < 0 ? b - a : a - b; }>)),
    ONE("s_lshl1_add_u32", shift_add<1>),
    ONE("s_lshl2_add_u32", shift_add<2>),
    ONE("s_lshl3_add_u32", shift_add<3>),
    ONE("s_lshl4_add_u32", shift_add<4>),
    ONE("s_pack_ll_b32_b16", (pack<0, 0>)),
    ONE("s_pack_lh_b32_b16", (pack<0, 16>)),
    ONE("s_pack_hh_b32_b16", (pack<16, 16>)),

    COMPARISON("eq", kEq),
    COMPARISON("lg", kNe),
    COMPARISON("gt", kGt),
    COMPARISON("ge", kGe),
    COMPARISON("lt", kLt),
    COMPARISON("le", kLe),
    ONE("s_cmp_eq_u64", (compare<u64, kEq>)),
    ONE("s_cmp_lg_u64", (compare<u64, kNe>)),
    ONE("s_bitcmp0_b32", (compare<u32, [](u32 a, u32 b) { return (a >> (b & 31) & 1) == 0; }>)),
    ONE("s_bitcmp1_b32", (compare<u32, [](u32 a, u32 b) { return (a >> (b & 31) & 1) != 0; }>)),
    ONE("s_bitcmp0_b64", (compare<u64, [](u64 a, u64 b) { return (a >> (b & 63) & 1) == 0; }>)),
    ONE("s_bitcmp1_b64", (compare<u64, [](u64 a, u64 b) { return (a >> (b & 63) & 1) != 0; }>)),

    ONE("s_movk_i32", store_immediate),
    ONE("s_cmovk_i32", move_immediate_if),
    ONE("s_addk_i32", add_immediate),
    ONE("s_mulk_i32", multiply_immediate),
};

#undef EXEC_OP
#undef COMPARISON
#undef BOTH_WIDTHS
#undef ONE

}  // namespace

std::span<const Semantics> scalar_arithmetic() noexcept {
  return kSemantics;
}

}  // namespace ckgen::emu
