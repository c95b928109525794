// 16-bit integer operations, and 16-bit sources with 32-bit results. Which ones keep the upper half: float_lanes.hpp.
#include "vector_parts.hpp"

namespace ckgen::emu {
namespace {

using U = std::uint32_t;
using I = std::int32_t;
using U16 = std::uint16_t;
using I16 = std::int16_t;
constexpr HighHalf kZero = HighHalf::zero, kKeep = HighHalf::keep;

/// One 16-bit source, extended as `Half` says.
template <class Half>
void read_half(const Wave& wave, const Inst& inst, unsigned index, Row<std::int64_t>& out) noexcept {
  Row<U> raw;
  read_u16(wave, inst, index, raw);
  for (unsigned lane = 0; lane < kLanes; ++lane) out[lane] = static_cast<Half>(raw[lane]);
}

/// Op gives the exact result, which clamp saturates to `Half`.
template <unsigned Sources, class Half, HighHalf High, auto Op>
void half_op(Wave& wave, const Inst& inst) {
  Row<std::int64_t> a, b, c;
  read_half<Half>(wave, inst, 0, a);
  read_half<Half>(wave, inst, 1, b);
  if constexpr (Sources > 2) read_half<Half>(wave, inst, 2, c);
  Row<U> r;
  const bool clamp = inst.clamp;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    std::int64_t exact;
    if constexpr (Sources == 2) exact = Op(a[lane], b[lane]);
    if constexpr (Sources == 3) exact = Op(a[lane], b[lane], c[lane]);
    r[lane] = static_cast<U16>(clamp ? saturated<Half>(exact) : static_cast<Half>(exact));
  }
  write_half(wave, inst, r, High);
}
template <unsigned Sources, class Half, HighHalf High, auto Op>
constexpr Semantics halves(std::string_view name) {
  return plain_semantics(name, half_op<Sources, Half, High, Op>);
}

/// 16-bit times 16-bit plus 32-bit.
template <class Half, class Result>
void mad_wide(Wave& wave, const Inst& inst) {
  Row<std::int64_t> a, b;
  read_half<Half>(wave, inst, 0, a);
  read_half<Half>(wave, inst, 1, b);
  const Lanes c(wave, inst, 2);
  Row<U> r;
  const bool clamp = inst.clamp;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const std::int64_t exact = a[lane] * b[lane] + static_cast<Result>(c[lane]);
    r[lane] = static_cast<U>(clamp ? saturated<Result>(exact) : static_cast<Result>(exact));
  }
  write_lanes(wave, inst, r.v);
}

void bitop3(Wave& wave, const Inst& inst) {
  Row<U> a, b, c, r;
  read_u16(wave, inst, 0, a);
  read_u16(wave, inst, 1, b);
  read_u16(wave, inst, 2, c);
  const unsigned table = (inst.omod & 3u) << 6 | (inst.abs & 7u) << 3 | (inst.neg & 7u);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    U result = 0;
    for (unsigned row = 0; row < 8; ++row) {
      const U x = (row & 4) != 0 ? a[lane] : ~a[lane];
      const U y = (row & 2) != 0 ? b[lane] : ~b[lane];
      const U z = (row & 1) != 0 ? c[lane] : ~c[lane];
      result |= (table >> row & 1) != 0 ? x & y & z : 0;
    }
    r[lane] = result & 0xffff;
  }
  write_half(wave, inst, r, kKeep);
}

/// Two signed halves to unsigned bytes.
void sat_pk_u8(Wave& wave, const Inst& inst) {
  const Lanes a(wave, inst, 0);
  Row<U> r;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const U low = saturated<std::uint8_t>(static_cast<I16>(a[lane]));
    const U high = saturated<std::uint8_t>(static_cast<I16>(a[lane] >> 16));
    r[lane] = low | high << 8;
  }
  write_half(wave, inst, r, kZero);
}

template <class Byte>
void ashr_pk(Wave& wave, const Inst& inst) {
  const Lanes a(wave, inst, 0), b(wave, inst, 1), c(wave, inst, 2);
  Row<U> r;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const U low = static_cast<std::uint8_t>(saturated<Byte>(static_cast<I>(a[lane]) >> (c[lane] & 31)));
    const U high = static_cast<std::uint8_t>(saturated<Byte>(static_cast<I>(b[lane]) >> (c[lane] & 31)));
    r[lane] = low | high << 8;
  }
  write_half(wave, inst, r, kKeep);
}

constexpr auto kAdd = [](auto a, auto b) { return a + b; };
constexpr auto kSub = [](auto a, auto b) { return a - b; };
constexpr auto kSubReversed = [](auto a, auto b) { return b - a; };
constexpr auto kMad = [](auto a, auto b, auto c) { return a * b + c; };
constexpr auto kMin = [](auto a, auto b) { return std::min(a, b); };
constexpr auto kMax = [](auto a, auto b) { return std::max(a, b); };
constexpr auto kMin3 = [](auto a, auto b, auto c) { return std::min(std::min(a, b), c); };
constexpr auto kMax3 = [](auto a, auto b, auto c) { return std::max(std::max(a, b), c); };
constexpr auto kMed3 = [](auto a, auto b, auto c) { return std::max(std::min(a, b), std::min(std::max(a, b), c)); };

constexpr Semantics kAll[] = {
    halves<2, U16, kZero, kAdd>("v_add_u16"),
    halves<2, U16, kZero, kSub>("v_sub_u16"),
    halves<2, U16, kZero, kSubReversed>("v_subrev_u16"),
    halves<2, I16, kKeep, kAdd>("v_add_i16"),
    halves<2, I16, kKeep, kSub>("v_sub_i16"),
    halves<2, U16, kZero, [](auto a, auto b) { return a * b; }>("v_mul_lo_u16"),
    halves<3, U16, kKeep, kMad>("v_mad_u16"),
    halves<3, I16, kKeep, kMad>("v_mad_i16"),
    halves<3, U16, kZero, kMad>("v_mad_legacy_u16"),
    halves<3, I16, kZero, kMad>("v_mad_legacy_i16"),
    plain_semantics("v_mad_u32_u16", mad_wide<U16, U>),
    plain_semantics("v_mad_i32_i16", mad_wide<I16, I>),

    halves<2, U16, kZero, [](auto a, auto b) { return b << (a & 15); }>("v_lshlrev_b16"),
    halves<2, U16, kZero, [](auto a, auto b) { return (b >> (a & 15)); }>("v_lshrrev_b16"),
    halves<2, I16, kZero, [](auto a, auto b) { return (b >> (a & 15)); }>("v_ashrrev_i16"),

    halves<2, U16, kZero, kMin>("v_min_u16"),
    halves<2, U16, kZero, kMax>("v_max_u16"),
    halves<2, I16, kZero, kMin>("v_min_i16"),
    halves<2, I16, kZero, kMax>("v_max_i16"),
    halves<3, U16, kKeep, kMin3>("v_min3_u16"),
    halves<3, U16, kKeep, kMax3>("v_max3_u16"),
    halves<3, U16, kKeep, kMed3>("v_med3_u16"),
    halves<3, I16, kKeep, kMin3>("v_min3_i16"),
    halves<3, I16, kKeep, kMax3>("v_max3_i16"),
    halves<3, I16, kKeep, kMed3>("v_med3_i16"),

    plain_semantics("v_bitop3_b16", bitop3),
    plain_semantics("v_sat_pk_u8_i16", sat_pk_u8),
    plain_semantics("v_ashr_pk_i8_i32", ashr_pk<std::int8_t>),
    plain_semantics("v_ashr_pk_u8_i32", ashr_pk<std::uint8_t>),
};

}  // namespace

std::span<const Semantics> vector_int16_semantics() noexcept {
  return kAll;
}

}  // namespace ckgen::emu
