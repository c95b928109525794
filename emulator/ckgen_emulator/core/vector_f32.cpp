// f32 arithmetic. Rounding and denormals are MXCSR's, which the loop sets from MODE.
#include <cmath>
#include <cstring>

#include "vector_parts.hpp"

namespace ckgen::emu {
namespace {

using U = std::uint32_t;

template <unsigned Sources, auto Op>
constexpr Semantics floats(std::string_view name) {
  return plain_semantics(name, f32_op<Sources, Op>);
}
template <unsigned Sources, auto Op>
constexpr Semantics moves(std::string_view name) {
  return plain_semantics(name, f32_bits_op<Sources, Op>);
}

constexpr auto kFma = [](float a, float b, float c) { return std::fma(a, b, c); };
/// gfx90a's, rounded after the product and after the sum. It has no denormals: compilers use it where MODE has none.
constexpr auto kMad = [](float a, float b, float c) { return a * b + c; };

/// The destination is the third source.
template <auto Op>
void onto_destination(Wave& wave, const Inst& inst) {
  Row<float> a, b, r;
  Row<U> c;
  read_f32(wave, inst, 0, a);
  read_f32(wave, inst, 1, b);
  read_destination(wave, inst, c);
  for (unsigned lane = 0; lane < kLanes; ++lane) r[lane] = Op(a[lane], b[lane], std::bit_cast<float>(c[lane]));
  write_f32(wave, inst, r);
}

/// Below 1 also where the subtraction would round up to it, as LLVM's lowering of fract() relies on.
constexpr auto kFract = [](float x) {
  const float part = x - std::floor(x);
  return part >= 1.0f ? 0x1.fffffep-1f : part;
};

/// Exact in double, rounded once. A denormal input is MXCSR's to flush in the conversion.
void ldexp(Wave& wave, const Inst& inst) {
  Row<float> a, r;
  read_f32(wave, inst, 0, a);
  const Lanes b(wave, inst, 1);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const std::int32_t by = std::clamp(static_cast<std::int32_t>(b[lane]), -400, 400);
    const double factor = std::bit_cast<double>(static_cast<std::uint64_t>(1023 + by) << 52);
    r[lane] = static_cast<float>(static_cast<double>(a[lane]) * factor);
  }
  write_f32(wave, inst, r);
}

/// Leading zeros by which a denormal's mantissa is to be shifted until its hidden bit is set; 0 for a normal number.
constexpr int denormal_shift(U bits) {
  return (bits & F32::kInfinity) == 0 ? std::countl_zero(bits & 0x7f'ffff) - 8 : 0;
}

/// Exponent of a mantissa in 0.5…1; 0 for zeros, infinities and NaNs.
void frexp_exp(Wave& wave, const Inst& inst) {
  Row<U> a;
  read_f32_bits(wave, inst, 0, a);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const U x = a[lane];
    const int shift = denormal_shift(x);
    const int exponent = static_cast<int>(x >> 23 & 0xff) - 126 + (shift != 0 ? 1 - shift : 0);
    const bool none = is_zero<F32>(x) || (x & F32::kInfinity) == F32::kInfinity;
    a[lane] = none ? 0 : static_cast<U>(exponent);
  }
  write_lanes(wave, inst, a.v);
}

void frexp_mant(Wave& wave, const Inst& inst) {
  Row<U> a;
  read_f32_bits(wave, inst, 0, a);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const U x = a[lane];
    const bool keeps = is_zero<F32>(x) || (x & F32::kInfinity) == F32::kInfinity;
    const U mantissa = (x << denormal_shift(x)) & 0x7f'ffff;
    a[lane] = keeps ? x : (x & F32::kSign) | 126u << 23 | mantissa;
  }
  write_f32_bits(wave, inst, a);
}

/// The cube map's faces: 0…5 for +x, -x, +y, -y, +z, -z; the axis of the largest magnitude, z before y before x.
constexpr auto kFace = [](float x, float y, float z) {
  const float ax = std::fabs(x), ay = std::fabs(y), az = std::fabs(z);
  if (az >= ax && az >= ay) return z < 0 ? 5 : 4;
  if (ay >= ax) return y < 0 ? 3 : 2;
  return x < 0 ? 1 : 0;
};
constexpr auto kCubeS = [](float x, float y, float z) {
  constexpr int kSource[] = {2, 2, 0, 0, 0, 0};
  constexpr float kSign[] = {-1, 1, 1, 1, 1, -1};
  const int face = kFace(x, y, z);
  return (kSource[face] == 0 ? x : z) * kSign[face];
};
constexpr auto kCubeT = [](float x, float y, float z) {
  const int face = kFace(x, y, z);
  return face == 2 ? z : face == 3 ? -z : -y;
};
constexpr auto kCubeMajor = [](float x, float y, float z) {
  const int face = kFace(x, y, z);
  return 2.0f * (face >= 4 ? z : face >= 2 ? y : x);
};

template <bool Max>
constexpr auto kTwo = [](U a, U b, bool ieee) { return extreme<F32, Max>(a, b, ieee); };
template <bool Max>
constexpr auto kThree =
    [](U a, U b, U c, bool ieee) { return extreme<F32, Max>(extreme<F32, Max>(a, b, ieee), c, ieee); };
template <bool Max>
constexpr auto kThreeOrNan = [](U a, U b, U c, bool) { return extremum<F32, Max>(extremum<F32, Max>(a, b), c); };

constexpr Semantics kAll[] = {
    floats<2, [](float a, float b) { return a + b; }>("v_add_f32"),
    floats<2, [](float a, float b) { return a - b; }>("v_sub_f32"),
    floats<2, [](float a, float b) { return b - a; }>("v_subrev_f32"),
    floats<2, [](float a, float b) { return a * b; }>("v_mul_f32"),
    // DX9's rule: zero times anything is +0.
    floats<2, [](float a, float b) { return a == 0 || b == 0 ? 0.0f : a * b; }>("v_mul_legacy_f32"),
    floats<3, kFma>("v_fma_f32"),
    floats<3, kFma>("v_fmamk_f32"),
    floats<3, kFma>("v_fmaak_f32"),
    plain_semantics("v_fmac_f32", onto_destination<kFma>, kReadsDestination),
    floats<3, kMad>("v_mad_f32"),
    floats<3, kMad>("v_madmk_f32"),
    floats<3, kMad>("v_madak_f32"),
    plain_semantics("v_mac_f32", onto_destination<kMad>, kReadsDestination),

    moves<2, kTwo<false>>("v_min_f32"),
    moves<2, kTwo<true>>("v_max_f32"),
    moves<3, kThree<false>>("v_min3_f32"),
    moves<3, kThree<true>>("v_max3_f32"),
    moves<3, [](U a, U b, U c, bool ieee) { return median<F32>(a, b, c, ieee); }>("v_med3_f32"),
    moves<3, kThreeOrNan<false>>("v_minimum3_f32"),
    moves<3, kThreeOrNan<true>>("v_maximum3_f32"),

    floats<1, [](float a) { return std::trunc(a); }>("v_trunc_f32"),
    floats<1, [](float a) { return std::ceil(a); }>("v_ceil_f32"),
    floats<1, [](float a) { return std::floor(a); }>("v_floor_f32"),
    floats<1, [](float a) { return __builtin_roundevenf(a); }>("v_rndne_f32"),
    floats<1, kFract>("v_fract_f32"),
    plain_semantics("v_ldexp_f32", ldexp),
    plain_semantics("v_frexp_exp_i32_f32", frexp_exp),
    plain_semantics("v_frexp_mant_f32", frexp_mant),

    floats<3, [](float x, float y, float z) { return static_cast<float>(kFace(x, y, z)); }>("v_cubeid_f32"),
    floats<3, kCubeS>("v_cubesc_f32"),
    floats<3, kCubeT>("v_cubetc_f32"),
    floats<3, kCubeMajor>("v_cubema_f32"),
};

}  // namespace

std::span<const Semantics> vector_f32_semantics() noexcept {
  return kAll;
}

}  // namespace ckgen::emu
