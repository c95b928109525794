// Rounding to 4- and 8-bit types, compiled once per ISA: to nearest even, to the largest value beyond it. A NaN becomes
// a NaN where the type has one. Included by the files of levels only. Plain loops, that compilers vectorise.
#pragma once

#include "backends/host/isa/pack.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

// A float of MANTISSA bits whose exponents are biased by BIAS: its largest finite code, the code of NaN, and whether
// it has no negative zero (the code of which is NaN then).
template <int MANTISSA, int BIAS, std::uint32_t LARGEST, std::uint32_t NAN_CODE, bool FNUZ, int SIGN_SHIFT = 24>
inline std::uint32_t to_narrow(float value) {
  constexpr int kDropped = 23 - MANTISSA;
  constexpr std::uint32_t kLeastNormal = static_cast<std::uint32_t>(128 - BIAS) << 23;
  // Adding it leaves the last bit where the last bit of a subnormal is.
  constexpr std::uint32_t kShifter = static_cast<std::uint32_t>(127 + 24 - BIAS - MANTISSA) << 23;
  const std::uint32_t bits = float_to_bits(value), magnitude = bits & 0x7fffffffU;
  const std::uint32_t normal =
      ((magnitude + ((1U << (kDropped - 1)) - 1U) + ((magnitude >> kDropped) & 1U)) >> kDropped) -
      (static_cast<std::uint32_t>(127 - BIAS) << MANTISSA);
  const std::uint32_t small = float_to_bits(bits_to_float(magnitude) + bits_to_float(kShifter)) - kShifter;
  std::uint32_t code = magnitude < kLeastNormal ? small : normal;
  code = code > LARGEST ? LARGEST : code;
  const std::uint32_t sign = (bits >> 31) << (31 - SIGN_SHIFT);
  const std::uint32_t all = FNUZ && code == 0 ? 0U : (sign | code);
  return magnitude > 0x7f800000U ? (FNUZ ? NAN_CODE : (sign | NAN_CODE)) : all;
}

inline std::uint32_t to_fp4(float value) {
  return to_narrow<1, 1, 7, 0, false, 28>(value);
}

template <std::uint32_t (*TO)(float)>
inline void narrow_run(const float* __restrict in, unsigned char* __restrict out, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<unsigned char>(TO(in[i]));
}

inline std::uint32_t to_int8(float value) {
  float x = value > -127.0F ? value : -127.0F;
  x = x < 127.0F ? x : 127.0F;
  return float_to_bits(x + 12582912.0F);  // 1.5 * 2^23: its last bits are those of the nearest integer
}

// false: no narrow type.
inline bool encode_narrow(DType c, const float* __restrict in, unsigned char* __restrict out, std::int64_t n) {
  switch (c) {
    case DType::fp8_fnuz: narrow_run<&to_narrow<3, 8, 0x7f, 0x80, true>>(in, out, n); return true;
    case DType::fp8_ocp: narrow_run<&to_narrow<3, 7, 0x7e, 0x7f, false>>(in, out, n); return true;
    case DType::bf8_fnuz: narrow_run<&to_narrow<2, 16, 0x7f, 0x80, true>>(in, out, n); return true;
    case DType::bf8_ocp: narrow_run<&to_narrow<2, 15, 0x7b, 0x7e, false>>(in, out, n); return true;
    case DType::int8: narrow_run<&to_int8>(in, out, n); return true;
    case DType::fp4:
      for (std::int64_t i = 0; i + 2 <= n; i += 2)
        out[i / 2] = static_cast<unsigned char>(to_fp4(in[i]) | to_fp4(in[i + 1]) << 4);
      return true;
    default: return false;
  }
}

}  // namespace
}  // namespace host
}  // namespace v1
}  // namespace ckgen
