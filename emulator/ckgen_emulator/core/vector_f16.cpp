// f16 arithmetic: computed in f32, exactly or rounded to odd, then rounded once as MODE.round_f16_f64 says. The last
// argument of an operation on two or three values is whether that is downwards.
#include <cmath>

#include "vector_parts.hpp"

namespace ckgen::emu {
namespace {

using U = std::uint32_t;
constexpr HighHalf kZero = HighHalf::zero, kKeep = HighHalf::keep;

template <unsigned Sources, auto Op>
[[gnu::noinline]] void lanes_of(const Row<float>& a, const Row<float>& b, const Row<float>& c, Row<float>& r,
                                bool down) noexcept {
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if constexpr (Sources == 1) r[lane] = Op(a[lane]);
    if constexpr (Sources == 2) r[lane] = Op(a[lane], b[lane], down);
    if constexpr (Sources == 3) r[lane] = Op(a[lane], b[lane], c[lane], down);
  }
}

template <unsigned Sources, HighHalf High, auto Op>
void half_op(Wave& wave, const Inst& inst) {
  Row<float> a, b, c, r;
  read_f16(wave, inst, 0, a);
  if constexpr (Sources > 1) read_f16(wave, inst, 1, b);
  if constexpr (Sources > 2) read_f16(wave, inst, 2, c);
  {
    const FloatScope scope(kNearest);
    lanes_of<Sources, Op>(a, b, c, r, rounds_down(wave.mode));
  }
  write_f16(wave, inst, r, High);
}
template <unsigned Sources, HighHalf High, auto Op>
constexpr Semantics halves(std::string_view name) {
  return plain_semantics(name, half_op<Sources, High, Op>);
}

/// On bits, for what compares or moves; Op's last argument is IEEE mode.
template <unsigned Sources, HighHalf High, auto Op>
void half_bits(Wave& wave, const Inst& inst) {
  Row<U> a, b, c, r;
  read_f16_bits(wave, inst, 0, a);
  read_f16_bits(wave, inst, 1, b);
  if constexpr (Sources > 2) read_f16_bits(wave, inst, 2, c);
  const bool ieee = wave.mode.ieee;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if constexpr (Sources == 2) r[lane] = Op(a[lane], b[lane], ieee);
    if constexpr (Sources == 3) r[lane] = Op(a[lane], b[lane], c[lane], ieee);
  }
  write_f16_bits(wave, inst, r, High);
}
template <unsigned Sources, HighHalf High, auto Op>
constexpr Semantics moves(std::string_view name) {
  return plain_semantics(name, half_bits<Sources, High, Op>);
}

constexpr auto kAdd = [](float a, float b, bool down) { return add_to_odd(a, b, down); };
constexpr auto kMul = [](float a, float b, bool) { return a * b; };  // 22 bits: exact
constexpr auto kFma = [](float a, float b, float c, bool down) { return add_to_odd(a * b, c, down); };

/// mad and mac round the product to f16 before they add.
void mad_rows(Wave& wave, const Inst& inst, Row<float>& a, const Row<float>& b, const Row<float>& c, HighHalf high) {
  Row<float> r;
  Row<U> product;
  {
    const FloatScope scope(kNearest);
    lanes_of<2, kMul>(a, b, b, r, false);
    narrow(wave.mode, r, product);
    widen(product, a);
    lanes_of<2, kAdd>(a, c, c, r, rounds_down(wave.mode));
  }
  write_f16(wave, inst, r, high);
}

template <HighHalf High>
void mad(Wave& wave, const Inst& inst) {
  Row<float> a, b, c;
  read_f16(wave, inst, 0, a);
  read_f16(wave, inst, 1, b);
  read_f16(wave, inst, 2, c);
  mad_rows(wave, inst, a, b, c, High);
}

/// With op_sel[3] the upper half is the addend too.
void mac(Wave& wave, const Inst& inst) {
  Row<float> a, b, c;
  Row<U> old;
  read_f16(wave, inst, 0, a);
  read_f16(wave, inst, 1, b);
  read_destination(wave, inst, old);
  const unsigned shift = (inst.op_sel & 8) != 0 ? 16 : 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) old[lane] = old[lane] >> shift & 0xffff;
  if ((wave.mode.denormals_f16_f64 & 1) == 0) {
    for (unsigned lane = 0; lane < kLanes; ++lane) old[lane] = flushed<F16>(old[lane]);
  }
  widen(old, c);
  mad_rows(wave, inst, a, b, c, kZero);
}

/// Exact in f32: 11 bits, and the exponent limited to where the result is zero or infinite anyway.
void ldexp(Wave& wave, const Inst& inst) {
  Row<float> a;
  Row<std::int32_t> b;
  read_f16(wave, inst, 0, a);
  read_i16(wave, inst, 1, b);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const int by = std::clamp(b[lane], -50, 50);
    a[lane] *= std::bit_cast<float>(static_cast<U>(127 + by) << 23);
  }
  write_f16(wave, inst, a, kZero);
}

/// Of an f16 as f32, where its denormals are normal numbers.
constexpr bool has_exponent(U wide) {
  return !is_zero<F32>(wide) && (wide & F32::kInfinity) != F32::kInfinity;
}

void frexp_exp(Wave& wave, const Inst& inst) {
  Row<float> a;
  Row<U> r;
  read_f16(wave, inst, 0, a);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const U wide = std::bit_cast<U>(a[lane]);
    r[lane] = has_exponent(wide) ? ((wide >> 23 & 0xff) - 126) & 0xffff : 0;
  }
  write_half(wave, inst, r, kZero);
}

void frexp_mant(Wave& wave, const Inst& inst) {
  Row<float> a;
  read_f16(wave, inst, 0, a);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const U wide = std::bit_cast<U>(a[lane]);
    a[lane] = std::bit_cast<float>(has_exponent(wide) ? (wide & 0x807f'ffff) | 126u << 23 : wide);
  }
  write_f16(wave, inst, a, kZero);
}

constexpr auto kFract = [](float x) {
  const float part = x - std::floor(x);
  return part > 0x1.ffcp-1f ? 0x1.ffcp-1f : part;  // stays below 1
};

void pack(Wave& wave, const Inst& inst) {
  Row<U> a, b;
  read_f16_bits(wave, inst, 0, a);
  read_f16_bits(wave, inst, 1, b);
  for (unsigned lane = 0; lane < kLanes; ++lane) a[lane] |= b[lane] << 16;
  write_lanes(wave, inst, a.v);
}

template <bool Max>
constexpr auto kTwo = [](U a, U b, bool ieee) { return extreme<F16, Max>(a, b, ieee); };
template <bool Max>
constexpr auto kThree =
    [](U a, U b, U c, bool ieee) { return extreme<F16, Max>(extreme<F16, Max>(a, b, ieee), c, ieee); };

constexpr Semantics kAll[] = {
    halves<2, kZero, kAdd>("v_add_f16"),
    halves<2, kZero, [](float a, float b, bool down) { return add_to_odd(a, -b, down); }>("v_sub_f16"),
    halves<2, kZero, [](float a, float b, bool down) { return add_to_odd(b, -a, down); }>("v_subrev_f16"),
    halves<2, kZero, kMul>("v_mul_f16"),
    halves<3, kKeep, kFma>("v_fma_f16"),
    halves<3, kZero, kFma>("v_fma_legacy_f16"),
    plain_semantics("v_mad_f16", mad<kKeep>),
    plain_semantics("v_mad_legacy_f16", mad<kZero>),
    plain_semantics("v_madmk_f16", mad<kZero>),
    plain_semantics("v_madak_f16", mad<kZero>),
    plain_semantics("v_mac_f16", mac, kReadsDestination),

    moves<2, kZero, kTwo<false>>("v_min_f16"),
    moves<2, kZero, kTwo<true>>("v_max_f16"),
    moves<3, kKeep, kThree<false>>("v_min3_f16"),
    moves<3, kKeep, kThree<true>>("v_max3_f16"),
    moves<3, kKeep, [](U a, U b, U c, bool ieee) { return median<F16>(a, b, c, ieee); }>("v_med3_f16"),

    halves<1, kZero, [](float a) { return std::trunc(a); }>("v_trunc_f16"),
    halves<1, kZero, [](float a) { return std::ceil(a); }>("v_ceil_f16"),
    halves<1, kZero, [](float a) { return std::floor(a); }>("v_floor_f16"),
    halves<1, kZero, [](float a) { return __builtin_roundevenf(a); }>("v_rndne_f16"),
    halves<1, kZero, kFract>("v_fract_f16"),
    plain_semantics("v_ldexp_f16", ldexp),
    plain_semantics("v_frexp_exp_i16_f16", frexp_exp),
    plain_semantics("v_frexp_mant_f16", frexp_mant),
    plain_semantics("v_pack_b32_f16", pack),
};

}  // namespace

std::span<const Semantics> vector_f16_semantics() noexcept {
  return kAll;
}

}  // namespace ckgen::emu
