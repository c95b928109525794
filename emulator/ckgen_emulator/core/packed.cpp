// VOP3P: two values in a register, or in a pair of registers; and fma_mix. op_sel names the half of each source that
// the low result takes, op_sel_hi that of the high one; neg and neg_hi likewise.
#include <cmath>
#include <vector>

#include "packed.hpp"

namespace ckgen::emu {
namespace {

using U = std::uint32_t;

/// The halves of a source that the high result takes: VOP2's packed operations cannot choose.
unsigned high_select(const Inst& inst) noexcept {
  return inst.op->format == Format::vop3p ? inst.op_sel_hi : 7u;
}

}  // namespace

void read_packed_u16(const Wave& wave, const Inst& inst, unsigned index, bool high, Row<U>& out) noexcept {
  const unsigned select = high ? high_select(inst) : inst.op_sel;
  const unsigned shift = (select >> index & 1) * 16;
  const Lanes from(wave, inst, index);
  for (unsigned lane = 0; lane < kLanes; ++lane) out[lane] = from[lane] >> shift & 0xffff;
}

void read_packed_f16_bits(const Wave& wave, const Inst& inst, unsigned index, bool high, Row<U>& out) noexcept {
  read_packed_u16(wave, inst, index, high, out);
  const unsigned neg = inst.op->format == Format::vop3p && high ? inst.neg_hi : inst.neg;
  const U flip = (neg >> index & 1) != 0 ? F16::kSign : 0;
  const U kept = (wave.mode.denormals_f16_f64 & 1) != 0 ? 0xffff : F16::kSign;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const U value = out[lane] ^ flip;
    out[lane] = (value & F16::kInfinity) == 0 ? value & kept : value;
  }
}

namespace {

void read_packed_f16(const Wave& wave, const Inst& inst, unsigned index, bool high, Row<float>& out) noexcept {
  Row<U> bits;
  read_packed_f16_bits(wave, inst, index, high, bits);
  widen(bits, out);
}

void write_packed(Wave& wave, const Inst& inst, Row<U>& low, const Row<U>& high) noexcept {
  for (unsigned lane = 0; lane < kLanes; ++lane) low[lane] |= high[lane] << 16;
  write_lanes(wave, inst, low.v);
}

/// 16-bit integers; clamp saturates the exact result to `Half`.
template <unsigned Sources, class Half, auto Op>
void packed_int(Wave& wave, const Inst& inst) {
  Row<U> result[2];
  for (unsigned half = 0; half < 2; ++half) {
    Row<U> a, b, c;
    read_packed_u16(wave, inst, 0, half == 1, a);
    read_packed_u16(wave, inst, 1, half == 1, b);
    if constexpr (Sources > 2) read_packed_u16(wave, inst, 2, half == 1, c);
    const bool clamp = inst.clamp;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const auto of = [](U value) { return std::int64_t{static_cast<Half>(value)}; };
      std::int64_t exact;
      if constexpr (Sources == 2) exact = Op(of(a[lane]), of(b[lane]));
      if constexpr (Sources == 3) exact = Op(of(a[lane]), of(b[lane]), of(c[lane]));
      const Half cut = clamp ? saturated<Half>(exact) : static_cast<Half>(exact);
      result[half][lane] = static_cast<std::uint16_t>(cut);
    }
  }
  write_packed(wave, inst, result[0], result[1]);
}

template <unsigned Sources, auto Op>
[[gnu::noinline]] void float_lanes(const Row<float>& a, const Row<float>& b, const Row<float>& c,
                                   Row<float>& r) noexcept {
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if constexpr (Sources == 2) r[lane] = Op(a[lane], b[lane]);
    if constexpr (Sources == 3) r[lane] = Op(a[lane], b[lane], c[lane]);
  }
}

template <unsigned Sources, auto Op>
[[gnu::noinline]] void half_lanes(const Row<float>& a, const Row<float>& b, const Row<float>& c, Row<float>& r,
                                  bool down) noexcept {
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if constexpr (Sources == 2) r[lane] = Op(a[lane], b[lane], down);
    if constexpr (Sources == 3) r[lane] = Op(a[lane], b[lane], c[lane], down);
  }
}

/// f16 arithmetic as in vector_f16.cpp; `Accumulates`: the third source is the destination.
template <unsigned Sources, bool Accumulates, auto Op>
void packed_f16(Wave& wave, const Inst& inst) {
  Row<U> result[2];
  for (unsigned half = 0; half < 2; ++half) {
    Row<float> a, b, c, r;
    read_packed_f16(wave, inst, 0, half == 1, a);
    read_packed_f16(wave, inst, 1, half == 1, b);
    if constexpr (Accumulates) {
      Row<U> old;
      read_destination(wave, inst, old);
      for (unsigned lane = 0; lane < kLanes; ++lane) old[lane] = old[lane] >> 16 * half & 0xffff;
      if ((wave.mode.denormals_f16_f64 & 1) == 0) {
        for (unsigned lane = 0; lane < kLanes; ++lane) old[lane] = flushed<F16>(old[lane]);
      }
      widen(old, c);
    } else if constexpr (Sources > 2) {
      read_packed_f16(wave, inst, 2, half == 1, c);
    }
    {
      const FloatScope scope(kNearest);
      half_lanes<Sources, Op>(a, b, c, r, rounds_down(wave.mode));
    }
    narrow(wave.mode, r, result[half]);
    finish_f16(wave.mode, inst, result[half]);
  }
  write_packed(wave, inst, result[0], result[1]);
}

/// Minima and maxima: on bits.
template <unsigned Sources, auto Op>
void packed_f16_bits(Wave& wave, const Inst& inst) {
  Row<U> result[2];
  for (unsigned half = 0; half < 2; ++half) {
    Row<U> a, b, c;
    read_packed_f16_bits(wave, inst, 0, half == 1, a);
    read_packed_f16_bits(wave, inst, 1, half == 1, b);
    if constexpr (Sources > 2) read_packed_f16_bits(wave, inst, 2, half == 1, c);
    const bool ieee = wave.mode.ieee;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      if constexpr (Sources == 2) result[half][lane] = Op(a[lane], b[lane], ieee);
      if constexpr (Sources == 3) result[half][lane] = Op(a[lane], b[lane], c[lane], ieee);
    }
    finish_f16(wave.mode, inst, result[half]);
  }
  write_packed(wave, inst, result[0], result[1]);
}

/// One f32 of a source's pair of registers.
void read_packed_f32(const Wave& wave, const Inst& inst, unsigned index, bool high, Row<float>& out) noexcept {
  const unsigned part = (high ? inst.op_sel_hi : inst.op_sel) >> index & 1;
  const U flip = ((high ? inst.neg_hi : inst.neg) >> index & 1) != 0 ? F32::kSign : 0;
  const Lanes from(wave, inst, index, part);
  for (unsigned lane = 0; lane < kLanes; ++lane) out[lane] = std::bit_cast<float>(from[lane] ^ flip);
}

template <unsigned Sources, auto Op>
void packed_f32(Wave& wave, const Inst& inst) {
  Row<float> result[2];
  for (unsigned half = 0; half < 2; ++half) {
    Row<float> a, b, c;
    read_packed_f32(wave, inst, 0, half == 1, a);
    read_packed_f32(wave, inst, 1, half == 1, b);
    if constexpr (Sources > 2) read_packed_f32(wave, inst, 2, half == 1, c);
    float_lanes<Sources, Op>(a, b, c, result[half]);
  }
  write_f32(wave, inst, result[0], 0);
  write_f32(wave, inst, result[1], 1);
}

/// Low from source 0, high from source 1, each the dword that op_sel names.
void pk_mov(Wave& wave, const Inst& inst) {
  Row<U> result[2];
  for (unsigned half = 0; half < 2; ++half) {
    const Lanes from(wave, inst, half, inst.op_sel >> half & 1);
    std::copy_n(from.data(), kLanes, result[half].v);
  }
  write_lanes(wave, inst, result[0].v, 0);
  write_lanes(wave, inst, result[1].v, 1);
}

/// A source of fma_mix: f32, or with op_sel_hi the f16 half that op_sel names. neg_hi is abs here.
void read_mixed(const Wave& wave, const Inst& inst, unsigned index, Row<float>& out) noexcept {
  const bool absolute = (inst.neg_hi >> index & 1) != 0, negative = (inst.neg >> index & 1) != 0;
  const bool half = (inst.op_sel_hi >> index & 1) != 0;
  const U sign = half ? F16::kSign : F32::kSign;
  const U keep = absolute ? ~sign : ~U{0}, flip = negative ? sign : 0;
  const Lanes from(wave, inst, index);
  Row<U> bits;
  const unsigned shift = half ? (inst.op_sel >> index & 1) * 16u : 0;
  const U mask = half ? 0xffff : ~U{0};
  for (unsigned lane = 0; lane < kLanes; ++lane) bits[lane] = ((from[lane] >> shift & mask) & keep) ^ flip;
  if (!half) {
    for (unsigned lane = 0; lane < kLanes; ++lane) out[lane] = std::bit_cast<float>(bits[lane]);
    return;
  }
  if ((wave.mode.denormals_f16_f64 & 1) == 0) {
    for (unsigned lane = 0; lane < kLanes; ++lane) bits[lane] = flushed<F16>(bits[lane]);
  }
  widen(bits, out);
}

constexpr auto kFma = [](float a, float b, float c) { return std::fma(a, b, c); };

/// The f32 sum is rounded to f32, then to f16, as LLVM's selection of these opcodes has it.
enum class Mixed : std::uint8_t { f32, low_f16, high_f16 };
template <Mixed Result>
void fma_mix(Wave& wave, const Inst& inst) {
  Row<float> a, b, c, r;
  read_mixed(wave, inst, 0, a);
  read_mixed(wave, inst, 1, b);
  read_mixed(wave, inst, 2, c);
  float_lanes<3, kFma>(a, b, c, r);
  if constexpr (Result == Mixed::f32) return write_f32(wave, inst, r);
  Row<U> halves, whole;
  narrow(wave.mode, r, halves);
  finish_f16(wave.mode, inst, halves);
  read_destination(wave, inst, whole);
  constexpr unsigned kShift = Result == Mixed::high_f16 ? 16 : 0;
  constexpr U kOther = Result == Mixed::high_f16 ? 0xffff : 0xffff'0000;
  for (unsigned lane = 0; lane < kLanes; ++lane) whole[lane] = (whole[lane] & kOther) | halves[lane] << kShift;
  write_lanes(wave, inst, whole.v);
}

using U16 = std::uint16_t;
using I16 = std::int16_t;
constexpr auto kAdd = [](auto a, auto b) { return a + b; };
constexpr auto kSub = [](auto a, auto b) { return a - b; };
constexpr auto kMul = [](auto a, auto b) { return a * b; };
constexpr auto kMad = [](auto a, auto b, auto c) { return a * b + c; };
constexpr auto kMin = [](auto a, auto b) { return std::min(a, b); };
constexpr auto kMax = [](auto a, auto b) { return std::max(a, b); };
constexpr auto kAddF16 = [](float a, float b, bool down) { return add_to_odd(a, b, down); };
constexpr auto kMulF16 = [](float a, float b, bool) { return a * b; };
constexpr auto kFmaF16 = [](float a, float b, float c, bool down) { return add_to_odd(a * b, c, down); };
template <bool Max>
constexpr auto kExtreme = [](U a, U b, bool ieee) { return extreme<F16, Max>(a, b, ieee); };
template <bool Max>
constexpr auto kExtremum = [](U a, U b, U c, bool) { return extremum<F16, Max>(extremum<F16, Max>(a, b), c); };

constexpr Semantics kAll[] = {
    plain_semantics("v_pk_add_u16", packed_int<2, U16, kAdd>),
    plain_semantics("v_pk_add_i16", packed_int<2, I16, kAdd>),
    plain_semantics("v_pk_sub_u16", packed_int<2, U16, kSub>),
    plain_semantics("v_pk_sub_i16", packed_int<2, I16, kSub>),
    plain_semantics("v_pk_mul_lo_u16", packed_int<2, U16, kMul>),
    plain_semantics("v_pk_mad_u16", packed_int<3, U16, kMad>),
    plain_semantics("v_pk_mad_i16", packed_int<3, I16, kMad>),
    plain_semantics("v_pk_min_u16", packed_int<2, U16, kMin>),
    plain_semantics("v_pk_max_u16", packed_int<2, U16, kMax>),
    plain_semantics("v_pk_min_i16", packed_int<2, I16, kMin>),
    plain_semantics("v_pk_max_i16", packed_int<2, I16, kMax>),
    plain_semantics("v_pk_lshlrev_b16", packed_int<2, U16, [](auto a, auto b) { return b << (a & 15); }>),
    plain_semantics("v_pk_lshrrev_b16", packed_int<2, U16, [](auto a, auto b) { return (b >> (a & 15)); }>),
    plain_semantics("v_pk_ashrrev_i16", packed_int<2, I16, [](auto a, auto b) { return (b >> (a & 15)); }>),

    plain_semantics("v_pk_add_f16", packed_f16<2, false, kAddF16>),
    plain_semantics("v_pk_mul_f16", packed_f16<2, false, kMulF16>),
    plain_semantics("v_pk_fma_f16", packed_f16<3, false, kFmaF16>),
    plain_semantics("v_pk_fmac_f16", packed_f16<3, true, kFmaF16>, kReadsDestination),
    plain_semantics("v_pk_min_f16", packed_f16_bits<2, kExtreme<false>>),
    plain_semantics("v_pk_max_f16", packed_f16_bits<2, kExtreme<true>>),
    plain_semantics("v_pk_minimum3_f16", packed_f16_bits<3, kExtremum<false>>),
    plain_semantics("v_pk_maximum3_f16", packed_f16_bits<3, kExtremum<true>>),

    plain_semantics("v_pk_add_f32", packed_f32<2, kAdd>),
    plain_semantics("v_pk_mul_f32", packed_f32<2, kMul>),
    plain_semantics("v_pk_fma_f32", packed_f32<3, kFma>),
    plain_semantics("v_pk_mov_b32", pk_mov),

    plain_semantics("v_fma_mix_f32", fma_mix<Mixed::f32>),
    plain_semantics("v_fma_mixlo_f16", fma_mix<Mixed::low_f16>),
    plain_semantics("v_fma_mixhi_f16", fma_mix<Mixed::high_f16>),
};

}  // namespace

std::span<const Semantics> packed_semantics() noexcept {
  static const std::vector<Semantics> all = [] {
    std::vector<Semantics> joined(std::begin(kAll), std::end(kAll));
    const auto dots = packed_dot_semantics();
    joined.insert(joined.end(), dots.begin(), dots.end());
    return joined;
  }();
  return all;
}

}  // namespace ckgen::emu
