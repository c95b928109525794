// 32-bit integer and logic operations. Semantics: CDNA3 and CDNA4 ISA, chapter "Instructions", VOP1, VOP2 and VOP3.
#include <bit>

#include "vector_parts.hpp"

namespace ckgen::emu {
namespace {

using U = std::uint32_t;
using I = std::int32_t;

template <unsigned Sources, auto Op>
constexpr Semantics bits(std::string_view name) {
  return plain_semantics(name, bits32<Sources, Op>);
}

constexpr I s(U value) {
  return static_cast<I>(value);
}
constexpr U u(I value) {
  return static_cast<U>(value);
}

/// 24-bit operands, in the width that the result is computed in.
constexpr U signed24(U value) {
  return u(s(value << 8) >> 8);
}
constexpr std::int64_t signed24(std::int64_t value) {
  return s(static_cast<U>(value) << 8) >> 8;
}
template <class T>
constexpr T unsigned24(T value) {
  return value & 0xff'ffff;
}

/// Arithmetic whose clamp bit saturates: Op on 32 wrapping bits, or on 64 with the exact result.
template <unsigned Sources, class Result, auto Op>
void saturating(Wave& wave, const Inst& inst) {
  if (!inst.clamp) return bits32<Sources, Op>(wave, inst);
  bits32<Sources, [](auto... source) {
    return static_cast<U>(saturated<Result>(Op(static_cast<std::int64_t>(static_cast<Result>(source))...)));
  }>(wave, inst);
}
template <unsigned Sources, class Result, auto Op>
constexpr Semantics clamps(std::string_view name) {
  return plain_semantics(name, saturating<Sources, Result, Op>);
}

/// Op gives the sum or difference in 64 bits: bit 32 is the carry or borrow. Under clamp it saturates.
template <bool Carries, bool Subtracts, auto Op>
void with_carry(Wave& wave, const Inst& inst) {
  const Lanes a(wave, inst, 0);
  const Lanes b(wave, inst, 1);
  const LaneMask carry = Carries ? read_mask(wave, inst, inst.src[2]) : 0;
  Row<U> r;
  Row<std::uint8_t> out;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const std::uint64_t full = Op(std::uint64_t{a[lane]}, std::uint64_t{b[lane]}, carry >> lane & 1);
    out[lane] = static_cast<std::uint8_t>(full >> 32 & 1);
    r[lane] = static_cast<U>(full);
  }
  if (inst.clamp) {
    for (unsigned lane = 0; lane < kLanes; ++lane) r[lane] = out[lane] != 0 ? (Subtracts ? 0 : ~U{0}) : r[lane];
  }
  const LaneMask mask = mask_of(out);
  write_lanes(wave, inst, r.v);
  write_mask(wave, inst.sdst, mask);
}

/// VOP3's neg and abs serve f32 here too: they act on the sign bits.
void cndmask(Wave& wave, const Inst& inst) {
  Row<float> a, b;
  Row<U> r;
  read_f32(wave, inst, 0, a);
  read_f32(wave, inst, 1, b);
  const LaneMask mask = read_mask(wave, inst, inst.src[2]);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    r[lane] = (mask >> lane & 1) != 0 ? std::bit_cast<U>(b[lane]) : std::bit_cast<U>(a[lane]);
  }
  write_lanes(wave, inst, r.v);
}

/// Any function of three bits; the truth table lies in the fields of omod, abs and neg.
void bitop3(Wave& wave, const Inst& inst) {
  const Lanes a(wave, inst, 0), b(wave, inst, 1), c(wave, inst, 2);
  const unsigned table = (inst.omod & 3u) << 6 | (inst.abs & 7u) << 3 | (inst.neg & 7u);
  U on[8];
  for (unsigned row = 0; row < 8; ++row) on[row] = (table >> row & 1) != 0 ? ~U{0} : 0;
  Row<U> r;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const U x = a[lane], y = b[lane], z = c[lane];
    const U low = (~y & ((~z & on[0]) | (z & on[1]))) | (y & ((~z & on[2]) | (z & on[3])));
    const U high = (~y & ((~z & on[4]) | (z & on[5]))) | (y & ((~z & on[6]) | (z & on[7])));
    r[lane] = (~x & low) | (x & high);
  }
  write_lanes(wave, inst, r.v);
}

void no_effect(Wave&, const Inst&) {}

constexpr U ones(U count) {
  return (U{1} << (count & 31)) - 1;
}
constexpr U reversed(U value) {
  value = (value >> 1 & 0x5555'5555) | (value & 0x5555'5555) << 1;
  value = (value >> 2 & 0x3333'3333) | (value & 0x3333'3333) << 2;
  value = (value >> 4 & 0x0f0f'0f0f) | (value & 0x0f0f'0f0f) << 4;
  return __builtin_bswap32(value);
}
constexpr U field_signed(U value, U at, U width) {
  const U left = 32 - (width & 31);
  const U cut = (s(value) >> (at & 31)) & ones(width);
  return (width & 31) == 0 ? 0 : u(s(cut << left) >> left);
}
constexpr auto difference = [](auto x, auto y) { return x > y ? x - y : y - x; };
constexpr U middle(U a, U b, U c) {
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}
constexpr I middle(I a, I b, I c) {
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

constexpr Semantics kAll[] = {
    bits<2, [](U a, U b) { return a & b; }>("v_and_b32"),
    bits<2, [](U a, U b) { return a | b; }>("v_or_b32"),
    bits<2, [](U a, U b) { return a ^ b; }>("v_xor_b32"),
    bits<2, [](U a, U b) { return ~(a ^ b); }>("v_xnor_b32"),
    bits<1, [](U a) { return ~a; }>("v_not_b32"),
    bits<3, [](U a, U b, U c) { return (a & b) | c; }>("v_and_or_b32"),
    bits<3, [](U a, U b, U c) { return a | b | c; }>("v_or3_b32"),
    bits<3, [](U a, U b, U c) { return (a ^ b) + c; }>("v_xad_u32"),
    plain_semantics("v_bitop3_b32", bitop3),
    plain_semantics("v_cndmask_b32", cndmask),

    bits<2, [](U a, U b) { return b << (a & 31); }>("v_lshlrev_b32"),
    bits<2, [](U a, U b) { return (b >> (a & 31)); }>("v_lshrrev_b32"),
    bits<2, [](U a, U b) { return u(s(b) >> (a & 31)); }>("v_ashrrev_i32"),
    bits<3, [](U a, U b, U c) { return (a << (b & 31)) + c; }>("v_lshl_add_u32"),
    bits<3, [](U a, U b, U c) { return (a + b) << (c & 31); }>("v_add_lshl_u32"),
    bits<3, [](U a, U b, U c) { return a << (b & 31) | c; }>("v_lshl_or_b32"),
    bits<3, [](U a, U b, U c) { return static_cast<U>((std::uint64_t{a} << 32 | b) >> (c & 31)); }>("v_alignbit_b32"),
    bits<3, [](U a, U b, U c) { return static_cast<U>((std::uint64_t{a} << 32 | b) >> 8 * (c & 3)); }>(
        "v_alignbyte_b32"),

    bits<3, [](U a, U b, U c) { return (a >> (b & 31)) & ones(c); }>("v_bfe_u32"),
    bits<3, field_signed>("v_bfe_i32"),
    bits<3, [](U a, U b, U c) { return (a & b) | (~a & c); }>("v_bfi_b32"),
    bits<2, [](U a, U b) { return ones(a) << (b & 31); }>("v_bfm_b32"),
    bits<1, reversed>("v_bfrev_b32"),
    bits<1, [](U a) { return a == 0 ? ~U{0} : u(std::countl_zero(a)); }>("v_ffbh_u32"),
    bits<1, [](U a) { return a == 0 ? ~U{0} : u(std::countr_zero(a)); }>("v_ffbl_b32"),
    bits<1,
         [](U a) {
           const U x = a ^ u(s(a) >> 31);
           return x == 0 ? ~U{0} : u(std::countl_zero(x));
         }>("v_ffbh_i32"),
    bits<2, [](U a, U b) { return u(std::popcount(a)) + b; }>("v_bcnt_u32_b32"),

    clamps<2, U, [](auto a, auto b) { return a + b; }>("v_add_u32"),
    clamps<2, U, [](auto a, auto b) { return a - b; }>("v_sub_u32"),
    clamps<2, U, [](auto a, auto b) { return b - a; }>("v_subrev_u32"),
    clamps<2, I, [](auto a, auto b) { return a + b; }>("v_add_i32"),
    clamps<2, I, [](auto a, auto b) { return a - b; }>("v_sub_i32"),
    bits<3, [](U a, U b, U c) { return a + b + c; }>("v_add3_u32"),
    plain_semantics("v_add_co_u32", with_carry<false, false, [](auto a, auto b, auto) { return a + b; }>),
    plain_semantics("v_sub_co_u32", with_carry<false, true, [](auto a, auto b, auto) { return a - b; }>),
    plain_semantics("v_subrev_co_u32", with_carry<false, true, [](auto a, auto b, auto) { return b - a; }>),
    plain_semantics("v_addc_co_u32", with_carry<true, false, [](auto a, auto b, auto c) { return a + b + c; }>),
    plain_semantics("v_subb_co_u32", with_carry<true, true, [](auto a, auto b, auto c) { return a - b - c; }>),
    plain_semantics("v_subbrev_co_u32", with_carry<true, true, [](auto a, auto b, auto c) { return b - a - c; }>),

    bits<2, [](U a, U b) { return a * b; }>("v_mul_lo_u32"),
    bits<2, [](U a, U b) { return static_cast<U>(std::uint64_t{a} * b >> 32); }>("v_mul_hi_u32"),
    bits<2, [](U a, U b) { return static_cast<U>(std::int64_t{s(a)} * s(b) >> 32); }>("v_mul_hi_i32"),
    bits<2, [](U a, U b) { return signed24(a) * signed24(b); }>("v_mul_i32_i24"),
    bits<2, [](U a, U b) { return unsigned24(a) * unsigned24(b); }>("v_mul_u32_u24"),
    bits<2, [](U a, U b) { return static_cast<U>(std::int64_t{s(signed24(a))} * s(signed24(b)) >> 32); }>(
        "v_mul_hi_i32_i24"),
    bits<2, [](U a, U b) { return static_cast<U>(std::uint64_t{unsigned24(a)} * unsigned24(b) >> 32); }>(
        "v_mul_hi_u32_u24"),
    clamps<3, I, [](auto a, auto b, auto c) { return signed24(a) * signed24(b) + c; }>("v_mad_i32_i24"),
    clamps<3, U, [](auto a, auto b, auto c) { return unsigned24(a) * unsigned24(b) + c; }>("v_mad_u32_u24"),

    bits<2, [](U a, U b) { return std::min(a, b); }>("v_min_u32"),
    bits<2, [](U a, U b) { return std::max(a, b); }>("v_max_u32"),
    bits<2, [](U a, U b) { return u(std::min(s(a), s(b))); }>("v_min_i32"),
    bits<2, [](U a, U b) { return u(std::max(s(a), s(b))); }>("v_max_i32"),
    bits<3, [](U a, U b, U c) { return std::min(std::min(a, b), c); }>("v_min3_u32"),
    bits<3, [](U a, U b, U c) { return std::max(std::max(a, b), c); }>("v_max3_u32"),
    bits<3, [](U a, U b, U c) { return u(std::min(std::min(s(a), s(b)), s(c))); }>("v_min3_i32"),
    bits<3, [](U a, U b, U c) { return u(std::max(std::max(s(a), s(b)), s(c))); }>("v_max3_i32"),
    bits<3, [](U a, U b, U c) { return middle(a, b, c); }>("v_med3_u32"),
    bits<3, [](U a, U b, U c) { return u(middle(s(a), s(b), s(c))); }>("v_med3_i32"),
    clamps<3, U, [](auto a, auto b, auto c) { return difference(a, b) + c; }>("v_sad_u32"),

    plain_semantics("v_clrexcp", no_effect),  // exceptions are not kept
};

}  // namespace

std::span<const Semantics> vector_int32_semantics() noexcept {
  return kAll;
}

}  // namespace ckgen::emu
