// Reciprocals, roots, exponentials, logarithms, sine and cosine.
// The ISA promises 1 ULP for f32's and f16's exp, log, rcp, rsq and sqrt, about 2^29 ULP for f64's rcp, rsq and sqrt,
// and no figure for sin and cos. Here each is computed in double and rounded once: correctly rounded but for about one
// argument in 2^28, so a kernel may differ from the hardware in a last place. f32's flush denormal arguments and
// results whatever MODE says; f16's do not (LLVM's lowering of these operations scales f32 arguments for that reason).
#include <array>
#include <cmath>

#include "vector_parts.hpp"

namespace ckgen::emu {
namespace {

/// ln(2)^n / n!, for n = 0…13.
constexpr auto kExp2Series = [] {
  std::array<double, 14> terms{1.0};
  for (std::size_t n = 1; n < terms.size(); ++n)
    terms[n] = terms[n - 1] * 0.693147180559945309417 / static_cast<double>(n);
  return terms;
}();

/// 2^x: the power of two of the nearest integer times a Taylor polynomial of 2^f, |f| <= 1/2, whose remainder is below
/// 2e-16 of the result.
inline double exp2_of(double x) {
  const double inside = x != x ? 0.0 : std::min(std::max(x, -1000.0), 1000.0);
  const double whole = std::nearbyint(inside);
  double sum = kExp2Series.back();
  for (std::size_t n = kExp2Series.size() - 1; n-- > 0;) sum = std::fma(sum, inside - whole, kExp2Series[n]);
  const std::int64_t power = static_cast<std::int64_t>(whole) + 1023;
  return x != x ? x : sum * std::bit_cast<double>(power << 52);
}
constexpr auto kExp = [](double x) { return exp2_of(x); };
constexpr auto kLog = [](double x) { return std::log2(x); };
constexpr auto kRcp = [](double x) { return 1.0 / x; };
constexpr auto kSqrt = [](double x) { return std::sqrt(x); };
constexpr auto kRsq = [](double x) { return 1.0 / std::sqrt(x); };

constexpr double kTwoPi = 6.28318530717958647692;
constexpr double kDomain = 256;  // beyond it, sin gives 0 and cos 1 (GCN3 ISA, V_SIN_F32, V_COS_F32)

/// Sine of a part of a turn, |part| <= 1/2. Folded at the quarter, which is exact: next to a half turn the rounding of
/// part * 2 pi would be more than the result's last place.
inline double sine_of_part(double part) {
  const double size = std::fabs(part);
  return std::copysign(std::sin((size > 0.25 ? 0.5 - size : size) * kTwoPi), part);
}

/// Arguments in turns. A multiple of half a turn gives 0, with the argument's sign only if that is 0 itself.
inline double sine(double x) {
  if (std::isinf(x)) return x - x;
  if (std::fabs(x) > kDomain) return 0;
  const double part = x - std::nearbyint(x);
  if (part == 0 || std::fabs(part) == 0.5) return x == 0 ? x : 0;
  return sine_of_part(part);
}
inline double cosine(double x) {
  if (std::isinf(x)) return x - x;
  if (std::fabs(x) > kDomain) return 1;
  const double part = std::fabs(x - std::nearbyint(x));
  return part < 0.125 ? std::cos(part * kTwoPi) : sine_of_part(0.25 - part);
}

template <auto Op>
[[gnu::noinline]] void lanes_f32(const Row<float>& a, Row<float>& r) noexcept {
  for (unsigned lane = 0; lane < kLanes; ++lane) r[lane] = static_cast<float>(Op(static_cast<double>(a[lane])));
}
template <auto Op>
[[gnu::noinline]] void lanes_f16(const Row<float>& a, Row<float>& r) noexcept {
  for (unsigned lane = 0; lane < kLanes; ++lane) r[lane] = narrow_to_odd(Op(static_cast<double>(a[lane])));
}
template <auto Op>
[[gnu::noinline]] void lanes_f64(Row<double>& a) noexcept {
  for (unsigned lane = 0; lane < kLanes; ++lane) a[lane] = Op(a[lane]);
}

template <auto Op>
void f32(Wave& wave, const Inst& inst) {
  Row<std::uint32_t> bits;
  Row<float> a, r;
  read_f32_bits(wave, inst, 0, bits);
  for (unsigned lane = 0; lane < kLanes; ++lane) a[lane] = std::bit_cast<float>(flushed<F32>(bits[lane]));
  {
    const FloatScope scope(kNearestFlushed);
    lanes_f32<Op>(a, r);
  }
  write_f32(wave, inst, r);
}

template <auto Op>
void f16(Wave& wave, const Inst& inst) {
  Row<float> a, r;
  read_f16(wave, inst, 0, a);
  {
    const FloatScope scope(kNearest);
    lanes_f16<Op>(a, r);
  }
  write_f16(wave, inst, r, HighHalf::zero);
}

template <auto Op>
void f64(Wave& wave, const Inst& inst) {
  Row<double> a;
  read_f64(wave, inst, 0, a);
  {
    const FloatScope scope(mxcsr_of_f64(wave.mode));
    lanes_f64<Op>(a);
  }
  write_f64(wave, inst, a);
}

constexpr auto kSin = [](double x) { return sine(x); };
constexpr auto kCos = [](double x) { return cosine(x); };

constexpr Semantics kAll[] = {
    plain_semantics("v_exp_f32", f32<kExp>),   plain_semantics("v_exp_legacy_f32", f32<kExp>),
    plain_semantics("v_log_f32", f32<kLog>),   plain_semantics("v_log_legacy_f32", f32<kLog>),
    plain_semantics("v_rcp_f32", f32<kRcp>),   plain_semantics("v_rcp_iflag_f32", f32<kRcp>),
    plain_semantics("v_rsq_f32", f32<kRsq>),   plain_semantics("v_sqrt_f32", f32<kSqrt>),
    plain_semantics("v_sin_f32", f32<kSin>),   plain_semantics("v_cos_f32", f32<kCos>),
    plain_semantics("v_exp_f16", f16<kExp>),   plain_semantics("v_log_f16", f16<kLog>),
    plain_semantics("v_rcp_f16", f16<kRcp>),   plain_semantics("v_rsq_f16", f16<kRsq>),
    plain_semantics("v_sqrt_f16", f16<kSqrt>), plain_semantics("v_sin_f16", f16<kSin>),
    plain_semantics("v_cos_f16", f16<kCos>),   plain_semantics("v_rcp_f64", f64<kRcp>),
    plain_semantics("v_rsq_f64", f64<kRsq>),   plain_semantics("v_sqrt_f64", f64<kSqrt>),
};

}  // namespace

std::span<const Semantics> vector_transcendental_semantics() noexcept {
  return kAll;
}

}  // namespace ckgen::emu
