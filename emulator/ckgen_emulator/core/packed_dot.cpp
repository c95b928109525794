// Dot products of two, four or eight packed values with a 32-bit addend.
#include <cmath>

#include "packed.hpp"

namespace ckgen::emu {
namespace {

using U = std::uint32_t;

/// The addend's bits: source 2, or the destination of the two-operand forms.
template <bool Accumulates>
void read_addend(Wave& wave, const Inst& inst, Row<U>& out) noexcept {
  if constexpr (Accumulates) return read_destination(wave, inst, out);
  const Lanes from(wave, inst, 2);
  std::copy_n(from.data(), kLanes, out.v);
}

/// One field of a dword, extended.
template <unsigned Bits, bool Signed>
constexpr std::int64_t field(U value, unsigned at) noexcept {
  const U cut = value << (32 - Bits - Bits * at);
  if constexpr (Signed)
    return static_cast<std::int32_t>(cut) >> (32 - Bits);
  else
    return cut >> (32 - Bits);
}

/// Integers of `Bits` bits: the sum is exact before it wraps, or under clamp saturates. Halves obey op_sel.
template <unsigned Bits, bool Signed, bool Accumulates>
void dot_int(Wave& wave, const Inst& inst) {
  using Result = std::conditional_t<Signed, std::int32_t, U>;
  Row<U> a, b, c;
  if constexpr (Bits == 16) {
    Row<U> high;
    for (Row<U>* one : {&a, &b}) {
      const unsigned index = one == &a ? 0 : 1;
      read_packed_u16(wave, inst, index, false, *one);
      read_packed_u16(wave, inst, index, true, high);
      for (unsigned lane = 0; lane < kLanes; ++lane) (*one)[lane] |= high[lane] << 16;
    }
  } else {
    const Lanes x(wave, inst, 0), y(wave, inst, 1);
    std::copy_n(x.data(), kLanes, a.v);
    std::copy_n(y.data(), kLanes, b.v);
  }
  read_addend<Accumulates>(wave, inst, c);
  const bool clamp = inst.clamp;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    std::int64_t sum = static_cast<Result>(c[lane]);
    for (unsigned at = 0; at < 32 / Bits; ++at) {
      sum += field<Bits, Signed>(a[lane], at) * field<Bits, Signed>(b[lane], at);
    }
    c[lane] = static_cast<U>(clamp ? saturated<Result>(sum) : static_cast<Result>(sum));
  }
  write_lanes(wave, inst, c.v);
}

enum class Half : std::uint8_t { f16, bf16 };

template <Half Kind>
void read_half(const Wave& wave, const Inst& inst, unsigned index, bool high, Row<float>& out) noexcept {
  Row<U> bits;
  if constexpr (Kind == Half::f16) {
    read_packed_f16_bits(wave, inst, index, high, bits);
    widen(bits, out);
  } else {
    read_packed_u16(wave, inst, index, high, bits);
    const unsigned neg = inst.op->format == Format::vop3p && high ? inst.neg_hi : inst.neg;
    const U flip = (neg >> index & 1) != 0 ? F32::kSign : 0;
    for (unsigned lane = 0; lane < kLanes; ++lane) out[lane] = std::bit_cast<float>(bits[lane] << 16 ^ flip);
  }
}

/// Products of halves are exact in f32; the sums are rounded one after the other. The addend comes first, but last in
/// v_dot2_f32_bf16, as the ISA's pseudocode writes them.
template <bool AddendLast>
[[gnu::noinline]] void sum_lanes(const Row<float> (&a)[2], const Row<float> (&b)[2], Row<float>& c) noexcept {
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if constexpr (AddendLast) {
      c[lane] = std::fma(a[1][lane], b[1][lane], a[0][lane] * b[0][lane]) + c[lane];
    } else {
      c[lane] = std::fma(a[1][lane], b[1][lane], std::fma(a[0][lane], b[0][lane], c[lane]));
    }
  }
}

template <Half Kind, bool Accumulates>
void dot2(Wave& wave, const Inst& inst) {
  Row<float> a[2], b[2], c;
  for (unsigned half = 0; half < 2; ++half) {
    read_half<Kind>(wave, inst, 0, half == 1, a[half]);
    read_half<Kind>(wave, inst, 1, half == 1, b[half]);
  }
  Row<U> addend;
  read_addend<Accumulates>(wave, inst, addend);
  const U flip = !Accumulates && (inst.neg & 4) != 0 ? F32::kSign : 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) c[lane] = std::bit_cast<float>(addend[lane] ^ flip);
  sum_lanes<Kind == Half::bf16 && !Accumulates>(a, b, c);
  write_f32(wave, inst, c);
}

constexpr Semantics kAll[] = {
    plain_semantics("v_dot2_i32_i16", dot_int<16, true, false>),
    plain_semantics("v_dot2_u32_u16", dot_int<16, false, false>),
    plain_semantics("v_dot4_i32_i8", dot_int<8, true, false>),
    plain_semantics("v_dot4_u32_u8", dot_int<8, false, false>),
    plain_semantics("v_dot8_i32_i4", dot_int<4, true, false>),
    plain_semantics("v_dot8_u32_u4", dot_int<4, false, false>),
    plain_semantics("v_dot2c_i32_i16", dot_int<16, true, true>, kReadsDestination),
    plain_semantics("v_dot4c_i32_i8", dot_int<8, true, true>, kReadsDestination),
    plain_semantics("v_dot8c_i32_i4", dot_int<4, true, true>, kReadsDestination),
    plain_semantics("v_dot2_f32_f16", dot2<Half::f16, false>),
    plain_semantics("v_dot2_f32_bf16", dot2<Half::bf16, false>),
    plain_semantics("v_dot2c_f32_f16", dot2<Half::f16, true>, kReadsDestination),
    plain_semantics("v_dot2c_f32_bf16", dot2<Half::bf16, true>, kReadsDestination),
};

}  // namespace

std::span<const Semantics> packed_dot_semantics() noexcept {
  return kAll;
}

}  // namespace ckgen::emu
