// The three steps of an IEEE division: div_scale brings numerator and denominator into range, div_fmas takes the
// scale back, div_fixup puts in the special cases.
// The ISA's pseudocode of the first two cannot be meant: it scales a huge denominator up, and takes 2^64 back with
// 2^32 whatever its direction. Here the scales are those with which the sequence that LLVM emits for a division gives
// the IEEE quotient.
#include <cmath>

#include "vector_parts.hpp"

namespace ckgen::emu {
namespace {

using U = std::uint32_t;
using U64 = std::uint64_t;

/// What the steps know of a format. `kScale`: the exponent that div_scale shifts by.
struct Single {
  using Float = float;
  using Format = F32;
  static constexpr int kMantissa = 23, kScale = 64, kApart = 96, kTiny = 23, kUnderflow = -150, kBias = 127;
  static constexpr std::uint8_t denormals(const Mode& mode) { return mode.denormals_f32; }
  static unsigned mxcsr(const Mode& mode) { return mxcsr_of(mode); }
};
struct Double {
  using Float = double;
  using Format = F64;
  static constexpr int kMantissa = 52, kScale = 128, kApart = 768, kTiny = 53, kUnderflow = -1075, kBias = 1023;
  static constexpr std::uint8_t denormals(const Mode& mode) { return mode.denormals_f16_f64; }
  static unsigned mxcsr(const Mode& mode) { return mxcsr_of_f64(mode); }
};

template <class T>
using WordOf = typename T::Format::Word;

template <class T>
void read_bits(const Wave& wave, const Inst& inst, unsigned index, Row<WordOf<T>>& out) noexcept {
  if constexpr (std::is_same_v<T, Single>)
    read_f32_bits(wave, inst, index, out);
  else
    read_f64_bits(wave, inst, index, out);
}
template <class T>
void write_bits(Wave& wave, const Inst& inst, Row<WordOf<T>>& values) noexcept {
  if constexpr (std::is_same_v<T, Single>)
    write_f32_bits(wave, inst, values);
  else
    write_f64_bits(wave, inst, values);
}

/// The exponent field.
template <class T>
int exponent(WordOf<T> bits) noexcept {
  return static_cast<int>((bits & T::Format::kInfinity) >> T::kMantissa);
}
template <class T>
typename T::Float value(WordOf<T> bits) noexcept {
  return std::bit_cast<typename T::Float>(bits);
}
template <class T>
bool denormal(typename T::Float x) noexcept {
  return std::fpclassify(x) == FP_SUBNORMAL;
}

template <class T>
struct Scaled {
  WordOf<T> value;
  bool later;  // div_fmas has to scale
};

/// Source 0 is the denominator (source 1) or the numerator (source 2), whichever is to be scaled.
template <class T>
Scaled<T> scaled(WordOf<T> s0, WordOf<T> s1, WordOf<T> s2) noexcept {
  using Float = typename T::Float;
  const auto by = [s0](int power) {
    return std::bit_cast<WordOf<T>>(static_cast<Float>(std::scalbn(value<T>(s0), power)));
  };
  const Float denominator = value<T>(s1), numerator = value<T>(s2);
  if (numerator == 0 || denominator == 0) return {T::Format::kInfinity | T::Format::kQuiet, false};
  const bool of_denominator = s0 == s1, of_numerator = s0 == s2;
  if (exponent<T>(s2) - exponent<T>(s1) >= T::kApart) return {of_denominator ? by(T::kScale) : s0, true};
  if (denormal<T>(denominator)) return {by(T::kScale), false};
  const bool small_reciprocal = denormal<T>(1 / denominator),
             small_quotient = denormal<T>(numerator / denominator) || numerator / denominator == 0;
  if (small_reciprocal && small_quotient) return {of_denominator ? by(-T::kScale) : s0, true};
  if (small_reciprocal) return {by(-T::kScale), false};
  if (small_quotient) return {of_numerator ? by(T::kScale) : s0, true};
  if (exponent<T>(s2) <= T::kTiny) return {by(T::kScale), false};
  return {s0, false};
}

template <class T>
[[gnu::noinline]] LaneMask scale_lanes(Row<WordOf<T>>& a, const Row<WordOf<T>>& b, const Row<WordOf<T>>& c) noexcept {
  LaneMask later = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const Scaled<T> one = scaled<T>(a[lane], b[lane], c[lane]);
    a[lane] = one.value;
    later |= LaneMask{one.later} << lane;
  }
  return later;
}

template <class T>
void div_scale(Wave& wave, const Inst& inst) {
  Row<WordOf<T>> a, b, c;
  read_bits<T>(wave, inst, 0, a);
  read_bits<T>(wave, inst, 1, b);
  read_bits<T>(wave, inst, 2, c);
  LaneMask later = 0;
  {
    const FloatScope scope(kNearest);
    later = scale_lanes<T>(a, b, c);
  }
  write_bits<T>(wave, inst, a);
  write_mask(wave, inst.sdst, later);
}

/// A format that holds a product exactly, and its bits.
template <class T>
using WideOf = std::conditional_t<std::is_same_v<T, Single>, double, __float128>;
template <class T>
using WideBits = std::conditional_t<std::is_same_v<T, Single>, std::uint64_t, unsigned __int128>;

/// 2^±64 (f64: 2^±128): upwards for an estimated quotient c above 1.
template <class T>
int later_power(WordOf<T> c) noexcept {
  return exponent<T>(c) > T::kBias ? T::kScale : -T::kScale;
}

/// (a * b + c) * 2^power with the sum rounded to odd, so that the rounding to the result is the only one.
template <class T>
[[gnu::noinline]] WideOf<T> wide_scaled(WordOf<T> a, WordOf<T> b, WordOf<T> c) noexcept {
  using Wide = WideOf<T>;
  const Wide product = static_cast<Wide>(value<T>(a)) * static_cast<Wide>(value<T>(b));
  const Wide addend = static_cast<Wide>(value<T>(c));
  const Wide sum = product + addend;
  const Wide from_addend = sum - product;
  const Wide error = (product - (sum - from_addend)) + (addend - from_addend);
  WideBits<T> bits = std::bit_cast<WideBits<T>>(sum);
  if (error != 0 && (bits & 1) == 0) bits += (error > 0) == (sum > 0) ? 1 : static_cast<WideBits<T>>(-1);
  return std::bit_cast<Wide>(bits) * static_cast<Wide>(std::scalbn(1.0, later_power<T>(c)));
}

template <class T>
[[gnu::noinline]] typename T::Float narrowed(WideOf<T> wide) noexcept {
  return static_cast<typename T::Float>(wide);
}

/// a * b + c, scaled where `later` is set; only a denormal result needs more than a scaling of the sum.
template <class T>
[[gnu::noinline]] LaneMask fmas_lanes(const Row<WordOf<T>>& a, const Row<WordOf<T>>& b, const Row<WordOf<T>>& c,
                                      Row<WordOf<T>>& r, LaneMask later) noexcept {
  LaneMask denormal_ones = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    typename T::Float result = std::fma(value<T>(a[lane]), value<T>(b[lane]), value<T>(c[lane]));
    if ((later >> lane & 1) != 0) {
      const bool zero = result == 0;
      result = std::scalbn(result, later_power<T>(c[lane]));
      const bool small = exponent<T>(std::bit_cast<WordOf<T>>(result)) <= 1;
      denormal_ones |= LaneMask{small && !zero} << lane;
    }
    r[lane] = std::bit_cast<WordOf<T>>(result);
  }
  return denormal_ones;
}

template <class T>
void div_fmas(Wave& wave, const Inst& inst) {
  Row<WordOf<T>> a, b, c, r;
  read_bits<T>(wave, inst, 0, a);
  read_bits<T>(wave, inst, 1, b);
  read_bits<T>(wave, inst, 2, c);
  {
    const FloatScope scope(T::mxcsr(wave.mode));
    const LaneMask denormal_ones = fmas_lanes<T>(a, b, c, r, wave.vcc());
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      if ((denormal_ones >> lane & 1) == 0) continue;
      WideOf<T> wide;
      {
        const FloatScope nearest(kNearest);
        wide = wide_scaled<T>(a[lane], b[lane], c[lane]);
      }
      r[lane] = std::bit_cast<WordOf<T>>(narrowed<T>(wide));
    }
  }
  write_bits<T>(wave, inst, r);
}

/// The quotient s0 of s2 / s1, or what a special case has instead. Where the steps before overflowed, s0 is NaN.
template <class F>
typename F::Word fixed(typename F::Word s0, typename F::Word s1, typename F::Word s2) noexcept {
  using Word = typename F::Word;
  const Word sign = (s1 ^ s2) & F::kSign;
  const auto infinite = [](Word x) { return (x & ~F::kSign) == F::kInfinity; };
  const bool both = (is_zero<F>(s1) && is_zero<F>(s2)) || (infinite(s1) && infinite(s2));
  Word result = sign | (is_nan<F>(s0) ? F::kInfinity : s0 & ~F::kSign);
  result = infinite(s1) || is_zero<F>(s2) ? sign : result;
  result = is_zero<F>(s1) || infinite(s2) ? sign | F::kInfinity : result;
  result = both ? F::kSign | F::kInfinity | F::kQuiet : result;
  result = is_nan<F>(s1) ? s1 | F::kQuiet : result;
  return is_nan<F>(s2) ? s2 | F::kQuiet : result;
}

template <class T>
void div_fixup(Wave& wave, const Inst& inst) {
  Row<WordOf<T>> a, b, c;
  read_bits<T>(wave, inst, 0, a);
  read_bits<T>(wave, inst, 1, b);
  read_bits<T>(wave, inst, 2, c);
  const bool flush = (T::denormals(wave.mode) & 2) == 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const WordOf<T> sign = (b[lane] ^ c[lane]) & T::Format::kSign;
    const WordOf<T> one = fixed<typename T::Format>(a[lane], b[lane], c[lane]);
    // A quotient too small for any rounding but the directed ones.
    const bool ordinary = !is_zero<typename T::Format>(b[lane]) && !is_zero<typename T::Format>(c[lane]) &&
                          exponent<T>(b[lane]) != 2 * T::kBias + 1 && exponent<T>(c[lane]) != 2 * T::kBias + 1;
    const bool underflows = ordinary && exponent<T>(c[lane]) - exponent<T>(b[lane]) < T::kUnderflow;
    a[lane] = underflows ? sign : flush ? flushed<typename T::Format>(one) : one;
  }
  write_bits<T>(wave, inst, a);
}

template <HighHalf High>
void div_fixup_f16(Wave& wave, const Inst& inst) {
  Row<U> a, b, c;
  read_f16_bits(wave, inst, 0, a);
  read_f16_bits(wave, inst, 1, b);
  read_f16_bits(wave, inst, 2, c);
  for (unsigned lane = 0; lane < kLanes; ++lane) a[lane] = fixed<F16>(a[lane], b[lane], c[lane]);
  write_f16_bits(wave, inst, a, High);
}

constexpr Semantics kAll[] = {
    plain_semantics("v_div_scale_f32", div_scale<Single>),
    plain_semantics("v_div_scale_f64", div_scale<Double>),
    plain_semantics("v_div_fmas_f32", div_fmas<Single>, kReadsVcc),
    plain_semantics("v_div_fmas_f64", div_fmas<Double>, kReadsVcc),
    plain_semantics("v_div_fixup_f32", div_fixup<Single>),
    plain_semantics("v_div_fixup_f64", div_fixup<Double>),
    plain_semantics("v_div_fixup_f16", div_fixup_f16<HighHalf::keep>),
    plain_semantics("v_div_fixup_legacy_f16", div_fixup_f16<HighHalf::zero>),
};

}  // namespace

std::span<const Semantics> vector_divide_semantics() noexcept {
  return kAll;
}

}  // namespace ckgen::emu
