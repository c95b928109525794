// Registers of A and B to rows of floats.
#include <bit>

#include "formats.hpp"
#include "matrix.hpp"

namespace ckgen::emu {
namespace {

/// A code of a format below 32 bits. The fields moved to f32's places are the value times 2^(bias - 127), for denormals
/// as well; one multiplication puts that right. Without branches, so that loops over lanes become vector code.
template <FloatFormat F>
inline float value_of(std::uint32_t code) noexcept {
  constexpr unsigned shift = 23 - F.mantissa_bits;
  constexpr float adjust = std::bit_cast<float>(static_cast<std::uint32_t>(254 - F.bias) << 23);
  const std::uint32_t magnitude = code & (F.sign_bit() - 1);
  const std::uint32_t sign = (code & F.sign_bit()) << (32 - F.width());
  std::uint32_t bits = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude << shift) * adjust);
  if constexpr (F.top == TopCodes::ieee) bits = magnitude > F.largest() ? kF32Infinity | magnitude << shift : bits;
  if constexpr (F.top == TopCodes::nan) bits = magnitude == F.nan() ? kF32QuietNan : bits;
  if constexpr (F.top == TopCodes::fnuz) bits = (code & (F.sign_bit() * 2 - 1)) == F.nan() ? kF32QuietNan : bits;
  return std::bit_cast<float>(sign | bits);
}

template <class Convert>
inline void each(const LaneValues& from, float (&to)[kLanes], const Convert& convert) noexcept {
  for (unsigned lane = 0; lane < kLanes; ++lane) to[lane] = convert(from[lane]);
}

/// Elements of `Bits` bits that lie inside their register.
template <unsigned Bits, class Convert>
inline void fields(const LaneValues* rows, unsigned elements, LaneElements& out, const Convert& convert) noexcept {
  constexpr unsigned per_register = 32 / Bits;
  for (unsigned e = 0; e < elements; ++e) {
    const unsigned shift = e % per_register * Bits;
    each(rows[e / per_register], out.at[e], [&](std::uint32_t value) { return convert(value >> shift); });
  }
}

template <FloatFormat F>
void small(const LaneValues* rows, unsigned elements, LaneElements& out) noexcept {
  fields<F.width()>(rows, elements, out, value_of<F>);
}

/// Six bits each, some of them across two registers.
template <FloatFormat F>
void six(const LaneValues* rows, unsigned elements, LaneElements& out) noexcept {
  for (unsigned e = 0; e < elements; ++e) {
    const unsigned first = 6 * e / 32, shift = 6 * e % 32;
    if (shift <= 26) {
      each(rows[first], out.at[e], [&](std::uint32_t value) { return value_of<F>(value >> shift); });
      continue;
    }
    const LaneValues &low = rows[first], &high = rows[first + 1];
    for (unsigned lane = 0; lane < kLanes; ++lane)
      out.at[e][lane] = value_of<F>(low[lane] >> shift | high[lane] << (32 - shift));
  }
}

}  // namespace

void unpack(Element type, const LaneValues* rows, unsigned elements, LaneElements& out) noexcept {
  constexpr std::uint32_t kXf32 = 0xffff'e000;  // sign, exponent and 10 bits of mantissa
  switch (type) {
    case Element::fp8: return small<kFp8>(rows, elements, out);
    case Element::bf8: return small<kBf8>(rows, elements, out);
    case Element::fp8_fnuz: return small<kFp8Fnuz>(rows, elements, out);
    case Element::bf8_fnuz: return small<kBf8Fnuz>(rows, elements, out);
    case Element::fp6: return six<kFp6>(rows, elements, out);
    case Element::bf6: return six<kBf6>(rows, elements, out);
    case Element::fp4: return small<kFp4>(rows, elements, out);
    case Element::f16: return small<kF16>(rows, elements, out);
    case Element::bf16:
      return fields<16>(rows, elements, out, [](std::uint32_t code) { return std::bit_cast<float>(code << 16); });
    case Element::i8:
      return fields<8>(rows, elements, out, [](std::uint32_t code) {
        return static_cast<float>(static_cast<std::int32_t>(code << 24) >> 24);
      });
    case Element::f32:
      return fields<32>(rows, elements, out, [](std::uint32_t code) { return std::bit_cast<float>(code); });
    case Element::xf32:
      return fields<32>(rows, elements, out, [](std::uint32_t code) {
        const bool nan = (code & ~kF32Sign) > kF32Infinity;  // its payload may be in the bits that are cut
        return std::bit_cast<float>((code & kXf32) | (nan ? 0x40'0000u : 0));
      });
  }
}

}  // namespace ckgen::emu
