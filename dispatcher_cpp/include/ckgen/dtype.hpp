// Element types of every operand the toolchain knows, their width in bits and their canonical names.
// Thread-safety: pure functions. Errors: parse() returns false and leaves `out` alone.
#pragma once

#include <cstdint>
#include <string_view>

namespace ckgen {
inline namespace v1 {

enum class DType : std::uint8_t {
  fp32,
  fp16,
  bf16,
  fp64,
  int8,
  int32,
  int4,
  fp4,       // e2m1, two per byte, low nibble first
  e8m0,      // power-of-two scale
  fp8_fnuz,  // e4m3fnuz (gfx942)
  fp8_ocp,   // e4m3fn   (gfx950, gfx12)
  bf8_fnuz,  // e5m2fnuz
  bf8_ocp,   // e5m2
  fp8,       // the arch's own flavour, not resolved yet
  bf8,       // likewise
  none,
};

inline constexpr int kDTypeCount = static_cast<int>(DType::none) + 1;

constexpr int bits(DType t) noexcept {
  switch (t) {
    case DType::fp64: return 64;
    case DType::fp32:
    case DType::int32: return 32;
    case DType::fp16:
    case DType::bf16: return 16;
    case DType::int4:
    case DType::fp4: return 4;
    case DType::int8:
    case DType::e8m0:
    case DType::fp8_fnuz:
    case DType::fp8_ocp:
    case DType::bf8_fnuz:
    case DType::bf8_ocp:
    case DType::fp8:
    case DType::bf8: return 8;
    case DType::none: return 0;
  }
  return 0;
}

// Bytes that `elements` consecutive elements occupy; a last half byte counts as a whole one.
constexpr std::int64_t bytes_of(DType t, std::int64_t elements) noexcept {
  const int b = bits(t);
  return b == 4 ? (elements + 1) / 2 : elements * (b / 8);
}

constexpr std::string_view name(DType t) noexcept {
  switch (t) {
    case DType::fp32: return "fp32";
    case DType::fp16: return "fp16";
    case DType::bf16: return "bf16";
    case DType::fp64: return "fp64";
    case DType::int8: return "int8";
    case DType::int32: return "int32";
    case DType::int4: return "int4";
    case DType::fp4: return "fp4";
    case DType::e8m0: return "e8m0";
    case DType::fp8_fnuz: return "fp8_fnuz";
    case DType::fp8_ocp: return "fp8_ocp";
    case DType::bf8_fnuz: return "bf8_fnuz";
    case DType::bf8_ocp: return "bf8_ocp";
    case DType::fp8: return "fp8";
    case DType::bf8: return "bf8";
    case DType::none: return "none";
  }
  return "none";
}

constexpr bool parse(std::string_view text, DType& out) noexcept {
  for (int i = 0; i < kDTypeCount; ++i) {
    const DType t = static_cast<DType>(i);
    if (text == name(t)) {
      out = t;
      return true;
    }
  }
  return false;
}

}  // namespace v1
}  // namespace ckgen
