// f64 arithmetic, under MODE's f16/f64 fields.
#include <cmath>
#include <cstring>

#include "vector_parts.hpp"

namespace ckgen::emu {
namespace {

using U = std::uint32_t;
using U64 = std::uint64_t;

template <unsigned Sources, auto Op>
[[gnu::noinline]] void lanes_of(const Row<double>& a, const Row<double>& b, const Row<double>& c,
                                Row<double>& r) noexcept {
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if constexpr (Sources == 1) r[lane] = Op(a[lane]);
    if constexpr (Sources == 2) r[lane] = Op(a[lane], b[lane]);
    if constexpr (Sources == 3) r[lane] = Op(a[lane], b[lane], c[lane]);
  }
}

template <unsigned Sources, auto Op>
void run_rows(Wave& wave, const Inst& inst, const Row<double>& a, const Row<double>& b, const Row<double>& c) {
  Row<double> r;
  {
    const FloatScope scope(mxcsr_of_f64(wave.mode));
    lanes_of<Sources, Op>(a, b, c, r);
  }
  write_f64(wave, inst, r);
}

template <unsigned Sources, auto Op>
void double_op(Wave& wave, const Inst& inst) {
  Row<double> a, b, c;
  read_f64(wave, inst, 0, a);
  if constexpr (Sources > 1) read_f64(wave, inst, 1, b);
  if constexpr (Sources > 2) read_f64(wave, inst, 2, c);
  run_rows<Sources, Op>(wave, inst, a, b, c);
}
template <unsigned Sources, auto Op>
constexpr Semantics doubles(std::string_view name) {
  return plain_semantics(name, double_op<Sources, Op>);
}

constexpr auto kFma = [](double a, double b, double c) { return std::fma(a, b, c); };

void fmac(Wave& wave, const Inst& inst) {
  Row<double> a, b, c;
  Row<U> low, high;
  read_f64(wave, inst, 0, a);
  read_f64(wave, inst, 1, b);
  read_destination(wave, inst, low, 0);
  read_destination(wave, inst, high, 1);
  for (unsigned lane = 0; lane < kLanes; ++lane) c[lane] = std::bit_cast<double>(low[lane] | U64{high[lane]} << 32);
  run_rows<3, kFma>(wave, inst, a, b, c);
}

template <bool Max>
void extreme_of(Wave& wave, const Inst& inst) {
  Row<U64> a, b;
  read_f64_bits(wave, inst, 0, a);
  read_f64_bits(wave, inst, 1, b);
  const bool ieee = wave.mode.ieee;
  for (unsigned lane = 0; lane < kLanes; ++lane) a[lane] = extreme<F64, Max>(a[lane], b[lane], ieee);
  write_f64_bits(wave, inst, a);
}

[[gnu::noinline]] void scale_lanes(Row<double>& a, const Lanes& by) noexcept {
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    a[lane] = std::scalbn(a[lane], std::clamp(static_cast<std::int32_t>(by[lane]), -5000, 5000));
  }
}

void ldexp(Wave& wave, const Inst& inst) {
  Row<double> a;
  read_f64(wave, inst, 0, a);
  const Lanes b(wave, inst, 1);
  {
    const FloatScope scope(mxcsr_of_f64(wave.mode));
    scale_lanes(a, b);
  }
  write_f64(wave, inst, a);
}

/// Mantissa in 0.5…1 and its exponent. Zeros, infinities and NaNs: themselves, and 0.
struct Parts {
  double mantissa;
  int exponent = 0;

  explicit Parts(double value) noexcept : mantissa(value) {
    if (!std::isfinite(value) || value == 0) return;
    mantissa = std::frexp(value, &exponent);
  }
};

void frexp_exp(Wave& wave, const Inst& inst) {
  Row<double> a;
  Row<U> r;
  read_f64(wave, inst, 0, a);
  const FloatScope scope(kNearest);
  for (unsigned lane = 0; lane < kLanes; ++lane) r[lane] = static_cast<U>(Parts(a[lane]).exponent);
  write_lanes(wave, inst, r.v);
}

[[gnu::noinline]] void mantissas(Row<double>& a) noexcept {
  for (unsigned lane = 0; lane < kLanes; ++lane) a[lane] = Parts(a[lane]).mantissa;
}

void frexp_mant(Wave& wave, const Inst& inst) {
  Row<double> a;
  read_f64(wave, inst, 0, a);
  {
    const FloatScope scope(kNearest);
    mantissas(a);
  }
  write_f64(wave, inst, a);
}

/// 2/pi's first 1216 binary places.
constexpr U64 kTwoOverPi[] = {0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
                              0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
                              0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
                              0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
                              0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab};

/// 53 of 2/pi's 1201 places from place `shift` on; bits beyond those are 0.
U64 places(unsigned shift) noexcept {
  U64 result = 0;
  for (unsigned at = shift; at < shift + 53; ++at) {
    const bool set = at < 1201 && (kTwoOverPi[at / 64] >> (63 - at % 64) & 1) != 0;
    result = result << 1 | U64{set};
  }
  return result;
}

/// The segment of 2/pi that a large argument's reduction multiplies with; segment b of a's magnitude.
void trig_preop(Wave& wave, const Inst& inst) {
  Row<U64> a;
  read_u64(wave, inst, 0, a);
  const Lanes b(wave, inst, 1);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const unsigned exponent = static_cast<unsigned>(a[lane] >> 52 & 0x7ff);
    const unsigned shift = (b[lane] & 31) * 53 + (exponent > 1077 ? exponent - 1077 : 0);
    const int scale = -53 - static_cast<int>(shift) + (exponent >= 1968 ? 128 : 0);
    a[lane] = std::bit_cast<U64>(std::scalbn(static_cast<double>(places(shift)), scale));
  }
  write_f64_bits(wave, inst, a);
}

constexpr Semantics kAll[] = {
    doubles<2, [](double a, double b) { return a + b; }>("v_add_f64"),
    doubles<2, [](double a, double b) { return a * b; }>("v_mul_f64"),
    doubles<3, kFma>("v_fma_f64"),
    plain_semantics("v_fmac_f64", fmac, kReadsDestination),
    plain_semantics("v_min_f64", extreme_of<false>),
    plain_semantics("v_max_f64", extreme_of<true>),
    doubles<1, [](double a) { return std::trunc(a); }>("v_trunc_f64"),
    doubles<1, [](double a) { return std::ceil(a); }>("v_ceil_f64"),
    doubles<1, [](double a) { return std::floor(a); }>("v_floor_f64"),
    doubles<1, [](double a) { return __builtin_roundeven(a); }>("v_rndne_f64"),
    doubles<1, [](double a) { return std::min(a - std::floor(a), 0x1.fffffffffffffp-1); }>("v_fract_f64"),
    plain_semantics("v_ldexp_f64", ldexp),
    plain_semantics("v_frexp_exp_i32_f64", frexp_exp),
    plain_semantics("v_frexp_mant_f64", frexp_mant),
    plain_semantics("v_trig_preop_f64", trig_preop),
};

}  // namespace

std::span<const Semantics> vector_f64_semantics() noexcept {
  return kAll;
}

}  // namespace ckgen::emu
