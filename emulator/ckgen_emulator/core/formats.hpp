// The floating-point formats below 32 bits, and conversions between them and f32. Integer arithmetic or exact: neither
// MXCSR nor the compiler's rounding assumptions touch a result. Inlined always: a call keeps a loop from vectorising.
// Sources: IEEE 754 (f16); OCP 8-bit FP specification 1.0 (e4m3, e5m2); OCP MX specification 1.0 (fp6, bf6, fp4, e8m0);
// CDNA3 ISA, "Data formats" (the FNUZ pair: bias one higher, 0x80 the only NaN, no infinities, no negative zero).
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace ckgen::emu {

/// What the topmost codes mean.
enum class TopCodes : std::uint8_t {
  ieee,    // the highest exponent is infinity (mantissa 0) and NaN
  nan,     // only s.111…1 is NaN; no infinity (OCP e4m3)
  fnuz,    // all are finite; NaN is the code of negative zero
  finite,  // all are finite; there is no NaN (MX fp6, bf6, fp4)
};

struct FloatFormat {
  unsigned exponent_bits, mantissa_bits;
  int bias;
  TopCodes top;

  constexpr unsigned width() const noexcept { return 1 + exponent_bits + mantissa_bits; }
  constexpr std::size_t codes() const noexcept { return std::size_t{1} << width(); }
  constexpr std::uint32_t sign_bit() const noexcept { return 1u << (width() - 1); }
  /// The largest finite magnitude's code.
  constexpr std::uint32_t largest() const noexcept {
    switch (top) {
      case TopCodes::ieee: return (((1u << exponent_bits) - 1) << mantissa_bits) - 1;
      case TopCodes::nan: return sign_bit() - 2;
      default: return sign_bit() - 1;
    }
  }
  /// A NaN's code without its sign; the largest finite one where there is no NaN. e5m2's is 0x7e, e4m3's 0x7f.
  constexpr std::uint32_t nan() const noexcept {
    switch (top) {
      case TopCodes::ieee: return largest() + 1 + (1u << (mantissa_bits - 1));
      case TopCodes::nan: return sign_bit() - 1;
      case TopCodes::fnuz: return sign_bit();
      default: return largest();
    }
  }
  /// What a magnitude beyond the largest becomes without saturation.
  constexpr std::uint32_t overflow() const noexcept { return top == TopCodes::ieee ? largest() + 1 : nan(); }
};

inline constexpr FloatFormat kF32{8, 23, 127, TopCodes::ieee};
inline constexpr FloatFormat kF16{5, 10, 15, TopCodes::ieee};
inline constexpr FloatFormat kBf16{8, 7, 127, TopCodes::ieee};
inline constexpr FloatFormat kFp8{4, 3, 7, TopCodes::nan};        // OCP e4m3, gfx950
inline constexpr FloatFormat kFp8Fnuz{4, 3, 8, TopCodes::fnuz};   // gfx942
inline constexpr FloatFormat kBf8{5, 2, 15, TopCodes::ieee};      // OCP e5m2, gfx950
inline constexpr FloatFormat kBf8Fnuz{5, 2, 16, TopCodes::fnuz};  // gfx942
inline constexpr FloatFormat kFp6{2, 3, 1, TopCodes::finite};     // e2m3
inline constexpr FloatFormat kBf6{3, 2, 3, TopCodes::finite};     // e3m2
inline constexpr FloatFormat kFp4{2, 1, 1, TopCodes::finite};     // e2m1

constexpr std::uint32_t kF32Sign = 0x8000'0000;
constexpr std::uint32_t kF32Infinity = 0x7f80'0000;
constexpr std::uint32_t kF32QuietNan = 0x7fc0'0000;

/// A code as an f32's bits, exact. NaNs become quiet and keep sign and payload; FNUZ's NaN has neither.
constexpr std::uint32_t decode_bits(const FloatFormat& format, std::uint32_t code) noexcept {
  const unsigned m = format.mantissa_bits;
  const std::uint32_t sign = (code & format.sign_bit()) != 0 ? kF32Sign : 0;
  const std::uint32_t magnitude = code & (format.sign_bit() - 1);
  const std::uint32_t exponent = magnitude >> m;
  const std::uint32_t mantissa = (magnitude & ((1u << m) - 1)) << (23 - m);
  if (format.top == TopCodes::fnuz && code == format.sign_bit()) return kF32QuietNan;
  if (format.top == TopCodes::nan && magnitude == format.nan()) return sign | kF32QuietNan;
  if (format.top == TopCodes::ieee && magnitude > format.largest()) {
    return sign | kF32Infinity | mantissa | (mantissa != 0 ? 0x40'0000u : 0);
  }
  if (exponent != 0) return sign | ((exponent + 127u - static_cast<unsigned>(format.bias)) << 23 | mantissa);
  if (mantissa == 0 || format.bias == 127) return sign | mantissa;  // bf16's denormals are f32's
  const unsigned up = static_cast<unsigned>(std::countl_zero(mantissa)) - 8;
  return sign | ((128u - static_cast<unsigned>(format.bias) - up) << 23) | ((mantissa << up) & 0x7f'ffff);
}

constexpr float decode(const FloatFormat& format, std::uint32_t code) noexcept {
  return std::bit_cast<float>(decode_bits(format, code));
}

/// f32 bits of every code, for the formats up to eight bits.
template <FloatFormat F>
inline constexpr auto kDecodedBits = [] {
  static_assert(F.width() <= 8);
  std::array<std::uint32_t, F.codes()> all{};
  for (std::uint32_t code = 0; code < all.size(); ++code) all[code] = decode_bits(F, code);
  return all;
}();

/// Values of every code, for the formats up to eight bits.
template <FloatFormat F>
inline constexpr auto kDecoded = [] {
  std::array<float, F.codes()> all{};
  for (std::uint32_t code = 0; code < all.size(); ++code) all[code] = std::bit_cast<float>(kDecodedBits<F>[code]);
  return all;
}();

/// An E8M0 scale as f32's bits: 2^(code - 127), 255 is NaN. Code 0 is an f32 denormal.
constexpr std::uint32_t e8m0_bits(std::uint32_t code) noexcept {
  return code == 255 ? kF32QuietNan : code == 0 ? 0x40'0000u : code << 23;
}
constexpr float e8m0(std::uint32_t code) noexcept {
  return std::bit_cast<float>(e8m0_bits(code));
}

/// f16's bits as f32's; in a form that vectorises.
[[gnu::always_inline]] constexpr std::uint32_t f16_to_f32_bits(std::uint32_t half) noexcept {
  const std::uint32_t magnitude = half & 0x7fff;
  const float denormal =
      static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24f;  // exact, and a normal f32
  const std::uint32_t normal = (magnitude << 13) + (112u << 23);
  const std::uint32_t top = magnitude << 13 | kF32Infinity | (magnitude > 0x7c00 ? 0x40'0000u : 0);
  const std::uint32_t value = magnitude >= 0x7c00 ? top
                              : magnitude < 0x400 ? std::bit_cast<std::uint32_t>(denormal)
                                                  : normal;
  return (half & 0x8000) << 16 | value;
}

/// The value of f16's and bf16's bits.
constexpr float f16_to_f32(std::uint16_t half) noexcept {
  return std::bit_cast<float>(f16_to_f32_bits(half));
}
constexpr float bf16_to_f32(std::uint16_t brain) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(brain) << 16);
}

/// MODE.round's numbering.
enum class Rounding : std::uint8_t { nearest_even, up, down, zero };

namespace detail {

/// An f32 cut to a format before rounding: code = significand >> drop, and what was dropped decides. `exponent` is
/// the part of the code that the significand (with its hidden bit) is added to.
struct Cut {
  std::uint32_t significand, drop, exponent;
  std::uint32_t denormal;  // the part of `drop` that is for the denormals' smaller exponent
};

/// `scale`: the value is first divided by 2^scale, exactly. Without branches, so that loops over it vectorise.
[[gnu::always_inline]] constexpr Cut cut(const FloatFormat& format, std::uint32_t magnitude, int scale) noexcept {
  const bool denormal = magnitude < 0x80'0000;
  // As a float of its own, a denormal's mantissa has the exponent and the mantissa that it would have as a normal.
  const std::uint32_t lifted =
      std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<std::int32_t>(magnitude & 0x7f'ffff)));
  const std::uint32_t normal = denormal ? lifted : magnitude;
  const int exponent = static_cast<int>(normal >> 23) - (denormal ? 149 : 0);
  const std::uint32_t significand = magnitude == 0 ? 0 : (normal & 0x7f'ffff) | 0x80'0000;
  const int above = exponent - 127 - scale - (1 - format.bias);  // over the smallest normal exponent
  const int below = above < -31 ? 31 : above < 0 ? -above : 0;
  const int drop = 23 - static_cast<int>(format.mantissa_bits) + below;
  return {significand, static_cast<std::uint32_t>(drop < 31 ? drop : 31),
          static_cast<std::uint32_t>(above < 0 ? 0 : above) << format.mantissa_bits, static_cast<std::uint32_t>(below)};
}

/// Sign, NaN, infinity and overflow around a rounded magnitude. The formats of 16 bits and more keep a NaN's payload.
[[gnu::always_inline]] constexpr std::uint32_t finish(const FloatFormat& format, std::uint32_t bits, std::uint32_t code,
                                                      bool to_largest, bool infinity_too) noexcept {
  const std::uint32_t magnitude = bits & ~kF32Sign;
  const std::uint32_t sign = (bits & kF32Sign) != 0 ? format.sign_bit() : 0;
  const bool over = (code > format.largest()) | (magnitude >= kF32Infinity);
  const bool clamped = to_largest & (infinity_too | (magnitude != kF32Infinity));
  const std::uint32_t beyond = clamped ? format.largest() : format.overflow();
  code = over ? beyond : code;
  const std::uint32_t payload = format.width() >= 16 ? (magnitude & 0x7f'ffff) >> (23 - format.mantissa_bits) : 0;
  code = magnitude > kF32Infinity ? format.nan() | payload : code;
  if (format.top != TopCodes::fnuz) return sign | code;
  return (code & (format.sign_bit() - 1)) == 0 ? code : sign | code;  // no negative zero, one NaN
}

}  // namespace detail

/// f32's bits to a code. `saturate`: MODE.fp16_ovfl; then overflow gives the largest finite value, for the formats of 8
/// bits and less an infinity does as well (f16 and bf16 keep infinities). Rounding toward zero, or away from an
/// infinity's side, overflows to the largest value too. The value is divided by 2^scale first.
[[gnu::always_inline]] constexpr std::uint32_t encode(const FloatFormat& format, std::uint32_t bits,
                                                      Rounding rounding = Rounding::nearest_even, bool saturate = false,
                                                      int scale = 0) noexcept {
  const bool negative = (bits & kF32Sign) != 0;
  const detail::Cut cut = detail::cut(format, bits & ~kF32Sign, scale);
  const std::uint32_t rest = (1u << cut.drop) - 1;
  const bool away = rounding == (negative ? Rounding::down : Rounding::up);
  const std::uint32_t nearest = (rest >> 1) + (cut.significand >> cut.drop & rest & 1);  // rest 0: nothing to round
  const std::uint32_t add = rounding == Rounding::nearest_even ? nearest : away ? rest : 0;
  const std::uint32_t code = cut.exponent + ((cut.significand + add) >> cut.drop);
  const bool small = format.width() <= 8;
  const bool inward = rounding != Rounding::nearest_even && !away;
  return detail::finish(format, bits, code, saturate || inward || format.top == TopCodes::finite,
                        small && (saturate || format.top == TopCodes::finite));
}

/// Stochastic rounding: the upper bits of `random` are added to what is dropped. `source_mantissa`: that of the format
/// the value comes from, 23, 10 (f16) or 7 (bf16); a denormal result is first cut to it, as AMD's host implementation
/// of these conversions does (amd_hip_ocp_host.hpp). CDNA3 ISA: v_cvt_sr_fp8_f32 uses random[31:12], v_cvt_sr_bf8_f32
/// [31:11].
[[gnu::always_inline]] constexpr std::uint32_t encode_stochastic(const FloatFormat& format, std::uint32_t bits,
                                                                 std::uint32_t random, bool saturate = false,
                                                                 int scale = 0,
                                                                 unsigned source_mantissa = 23) noexcept {
  const detail::Cut cut = detail::cut(format, bits & ~kF32Sign, scale);
  const unsigned dropped = 23 - format.mantissa_bits;
  const std::uint32_t kept_bits = ~((1u << (23 - source_mantissa)) - 1);
  const std::uint32_t significand = (cut.significand >> cut.denormal) & kept_bits;
  const std::uint32_t add = (random >> (32 - dropped)) & kept_bits;
  const std::uint32_t code = cut.exponent + ((significand + add) >> dropped);
  const bool clamp = saturate || format.top == TopCodes::finite;
  return detail::finish(format, bits, code, clamp, clamp && format.width() <= 8);
}

/// Nearest even, infinities and NaNs kept.
constexpr std::uint16_t f32_to_f16(float value, Rounding rounding = Rounding::nearest_even) noexcept {
  return static_cast<std::uint16_t>(encode(kF16, std::bit_cast<std::uint32_t>(value), rounding));
}
constexpr std::uint16_t f32_to_bf16(float value, Rounding rounding = Rounding::nearest_even) noexcept {
  return static_cast<std::uint16_t>(encode(kBf16, std::bit_cast<std::uint32_t>(value), rounding));
}

static_assert(decode(kFp8, 0x7e) == 448 && decode(kFp8Fnuz, 0x7f) == 240 && decode(kBf8, 0x7b) == 57344 &&
              decode(kBf8Fnuz, 0x7f) == 57344 && decode(kFp6, 0x1f) == 7.5f && decode(kBf6, 0x1f) == 28 &&
              decode(kFp4, 7) == 6 && decode(kF16, 0x7bff) == 65504);

}  // namespace ckgen::emu
