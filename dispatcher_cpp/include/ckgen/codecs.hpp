// Bit-exact decode/encode of the small float formats, constexpr, scalar; the tables of the host kernels come from here.
//
// decode(DType, code) -> float: exact. encode(DType, float, Overflow) -> code: round to nearest even. Overflow:
// `standard` does what ml_dtypes' astype does (infinity where the format has one, else NaN; fp4 has neither and
// clamps), `saturating` clamps finite and infinite values to the largest finite one. NaN stays NaN (fp4: zero).
// Formats: OCP 8-bit and Microscaling specifications; fnuz: no infinities, no negative zero, NaN is 0x80.
// Codes live in the low bits(DType) bits. Other dtypes than the eight below decode to 0 and encode to 0.
#pragma once

#include "ckgen/dtype.hpp"

#include <cstdint>

namespace ckgen {
inline namespace v1 {

enum class Overflow : std::uint8_t { standard, saturating };

namespace codec_detail {

// How the largest exponent's codes and the sign of zero are spent.
enum class Specials : std::uint8_t { ieee, nan_only, fnuz, none };

struct Format {
  int exponent_bits, mantissa_bits, bias;
  Specials specials;
};

constexpr Format format_of(DType t) noexcept {
  switch (t) {
    case DType::fp16: return {5, 10, 15, Specials::ieee};
    case DType::bf16: return {8, 7, 127, Specials::ieee};
    case DType::fp8_ocp: return {4, 3, 7, Specials::nan_only};
    case DType::fp8_fnuz: return {4, 3, 8, Specials::fnuz};
    case DType::bf8_ocp: return {5, 2, 15, Specials::ieee};
    case DType::bf8_fnuz: return {5, 2, 16, Specials::fnuz};
    case DType::fp4: return {2, 1, 1, Specials::none};
    default: return {0, 0, 0, Specials::none};
  }
}

constexpr std::uint32_t to_bits(float f) noexcept {
  return __builtin_bit_cast(std::uint32_t, f);
}
constexpr float from_bits(std::uint32_t b) noexcept {
  return __builtin_bit_cast(float, b);
}

inline constexpr std::uint32_t kNan = 0x7fc00000u;
inline constexpr std::uint32_t kInf = 0x7f800000u;

constexpr float decode_float(const Format f, std::uint32_t code) noexcept {
  const int magnitude_bits = f.exponent_bits + f.mantissa_bits;
  const std::uint32_t sign = ((code >> magnitude_bits) & 1u) << 31;
  const std::uint32_t magnitude = code & ((1u << magnitude_bits) - 1u);
  const std::uint32_t mantissa = magnitude & ((1u << f.mantissa_bits) - 1u);
  const int exponent = static_cast<int>(magnitude >> f.mantissa_bits);
  const std::uint32_t all_ones = (1u << magnitude_bits) - 1u;

  if (f.specials == Specials::ieee && exponent == (1 << f.exponent_bits) - 1)
    return from_bits(sign | (mantissa == 0 ? kInf : kNan | (mantissa << (23 - f.mantissa_bits))));
  if (f.specials == Specials::nan_only && magnitude == all_ones) return from_bits(sign | kNan);
  if (f.specials == Specials::fnuz && magnitude == 0 && sign != 0) return from_bits(sign | kNan);
  if (exponent == 0) {
    if (mantissa == 0) return from_bits(sign);
    // Subnormal: shift the leading one up to where a normal number has it.
    int shift = 0;
    std::uint32_t m = mantissa;
    while ((m >> f.mantissa_bits) == 0) {
      m <<= 1;
      ++shift;
    }
    const int e = 1 - f.bias - shift + 127;
    if (e <= 0) return from_bits(sign | (mantissa << (23 - f.mantissa_bits)));  // bf16: subnormal in fp32 too
    return from_bits(sign | (static_cast<std::uint32_t>(e) << 23) |
                     ((m & ((1u << f.mantissa_bits) - 1u)) << (23 - f.mantissa_bits)));
  }
  const std::uint32_t e = static_cast<std::uint32_t>(exponent - f.bias + 127);
  return from_bits(sign | (e << 23) | (mantissa << (23 - f.mantissa_bits)));
}

constexpr std::uint32_t encode_float(const Format f, float value, Overflow overflow) noexcept {
  const std::uint32_t bits = to_bits(value);
  const int magnitude_bits = f.exponent_bits + f.mantissa_bits;
  const std::uint32_t sign = (bits >> 31) << magnitude_bits;
  const std::uint32_t all_ones = (1u << magnitude_bits) - 1u;
  const std::uint32_t infinity = ((1u << f.exponent_bits) - 1u) << f.mantissa_bits;  // ieee only
  const std::uint32_t max_finite = f.specials == Specials::ieee       ? infinity - 1u
                                   : f.specials == Specials::nan_only ? all_ones - 1u
                                                                      : all_ones;
  const std::uint32_t magnitude = bits & 0x7fffffffu;

  if (magnitude > kInf) {
    switch (f.specials) {
      case Specials::ieee: return sign | infinity | (1u << (f.mantissa_bits - 1));
      case Specials::nan_only: return sign | all_ones;
      case Specials::fnuz: return 1u << magnitude_bits;
      case Specials::none: return sign ^ (1u << magnitude_bits);  // ml_dtypes: NaN -> -0, -NaN -> 0
    }
  }

  std::uint32_t code = 0;
  bool overflows = magnitude == kInf;
  if (!overflows && magnitude != 0) {
    const bool normal = magnitude >= 0x00800000u;
    const int exponent = normal ? static_cast<int>(magnitude >> 23) - 127 : -126;
    const std::uint32_t significand = (magnitude & 0x007fffffu) | (normal ? 0x00800000u : 0u);
    const int smallest_normal = 1 - f.bias;
    const int below = exponent < smallest_normal ? smallest_normal - exponent : 0;
    const int dropped = 23 - f.mantissa_bits + below;
    if (dropped <= 24) {  // beyond, the value is under half of the smallest subnormal
      const std::uint32_t half = 1u << (dropped - 1);
      const std::uint32_t kept = significand >> dropped;
      const std::uint32_t rest = significand & ((half << 1) - 1u);
      const std::uint32_t rounded = kept + ((rest > half || (rest == half && (kept & 1u))) ? 1u : 0u);
      // The implicit one of `rounded` carries into the exponent field, which is why no + 1 appears here.
      code =
          below == 0 ? (static_cast<std::uint32_t>(exponent - smallest_normal) << f.mantissa_bits) + rounded : rounded;
    }
    overflows = code > max_finite;
  }
  if (overflows) {
    if (overflow == Overflow::saturating || f.specials == Specials::none) return sign | max_finite;
    if (f.specials == Specials::fnuz) return 1u << magnitude_bits;
    return sign | (f.specials == Specials::ieee ? infinity : all_ones);
  }
  if (f.specials == Specials::fnuz && code == 0) return 0;  // no negative zero
  return sign | code;
}

constexpr float decode_e8m0(std::uint32_t code) noexcept {
  if (code == 0xffu) return from_bits(kNan);
  return code == 0 ? from_bits(0x00400000u) : from_bits(code << 23);
}

// Halves round up (ml_dtypes); zero, negative values and NaN have no code and become NaN, unless saturating clamps
// zero.
constexpr std::uint32_t encode_e8m0(float value, Overflow overflow) noexcept {
  const std::uint32_t bits = to_bits(value);
  const bool saturate = overflow == Overflow::saturating;
  if ((bits & 0x7fffffffu) == 0) return saturate ? 0u : 0xffu;
  if ((bits >> 31) != 0 || bits > kInf) return 0xffu;
  if (bits == kInf) return saturate ? 0xfeu : 0xffu;
  if (bits < 0x00800000u) return bits > 0x00400000u ? 1u : 0u;  // ml_dtypes rounds up below code 1
  const std::uint32_t code = (bits + 0x00400000u) >> 23;
  return code >= 0xffu ? (saturate ? 0xfeu : 0xffu) : code;
}

}  // namespace codec_detail

constexpr bool has_codec(DType t) noexcept {
  return t == DType::e8m0 || codec_detail::format_of(t).exponent_bits != 0;
}

constexpr float decode(DType t, std::uint32_t code) noexcept {
  if (t == DType::e8m0) return codec_detail::decode_e8m0(code & 0xffu);
  if (!has_codec(t)) return 0.0f;
  return codec_detail::decode_float(codec_detail::format_of(t), code);
}

constexpr std::uint32_t encode(DType t, float value, Overflow overflow = Overflow::standard) noexcept {
  if (t == DType::e8m0) return codec_detail::encode_e8m0(value, overflow);
  if (!has_codec(t)) return 0u;
  return codec_detail::encode_float(codec_detail::format_of(t), value, overflow);
}

// The largest finite value; 0 for a dtype without a codec.
constexpr float max_finite(DType t) noexcept {
  return t == DType::e8m0 ? codec_detail::from_bits(0x7f000000u)
                          : decode(t, encode(t, codec_detail::from_bits(0x7f7fffffu), Overflow::saturating));
}

// Two fp4 or int4 codes share a byte: element 0 in the low nibble.
constexpr std::uint32_t nibble(std::uint8_t byte, int element) noexcept {
  return (static_cast<std::uint32_t>(byte) >> (element * 4)) & 0xfu;
}
constexpr std::uint8_t pack_nibbles(std::uint32_t low, std::uint32_t high) noexcept {
  return static_cast<std::uint8_t>((low & 0xfu) | ((high & 0xfu) << 4));
}

// int4 is two's complement: -8 to 7.
constexpr int decode_int4(std::uint32_t code) noexcept {
  return static_cast<int>((code & 0xfu) ^ 8u) - 8;
}

// All values of a format of at most eight bits, indexable by the code.
struct DecodeTable {
  float value[256];
};

constexpr DecodeTable make_decode_table(DType t) noexcept {
  DecodeTable table{};
  const std::uint32_t mask = bits(t) >= 8 ? 0xffu : (1u << bits(t)) - 1u;
  for (std::uint32_t i = 0; i < 256; ++i) table.value[i] = decode(t, i & mask);
  return table;
}

}  // namespace v1
}  // namespace ckgen
