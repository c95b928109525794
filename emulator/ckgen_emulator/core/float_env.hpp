// Floats as bits, and the arithmetic state of MODE's f16/f64 fields.
// Payloads: a NaN that arithmetic makes or passes on has the host's sign and payload; min, max, med3 and what only
// moves bits keep theirs as the ISA says.
#pragma once

#include <xmmintrin.h>

#include <bit>
#include <cstdint>
#include <type_traits>

#include "float_mode.hpp"
#include "wave.hpp"

namespace ckgen::emu {

/// A format's masks, in the word its values are handled in. F16 sits in the lower half of a dword, the rest zero.
struct F16 {
  using Word = std::uint32_t;
  static constexpr Word kSign = 0x8000, kInfinity = 0x7c00, kQuiet = 0x0200, kOne = 0x3c00;
};
struct F32 {
  using Word = std::uint32_t;
  static constexpr Word kSign = 0x8000'0000, kInfinity = 0x7f80'0000, kQuiet = 0x0040'0000, kOne = 0x3f80'0000;
};
struct F64 {
  using Word = std::uint64_t;
  static constexpr Word kSign = 1ull << 63, kInfinity = 0x7ffull << 52, kQuiet = 1ull << 51, kOne = 0x3ffull << 52;
};

template <class F>
constexpr bool is_nan(typename F::Word value) noexcept {
  return (value & ~F::kSign) > F::kInfinity;
}
template <class F>
constexpr bool is_signalling(typename F::Word value) noexcept {
  return is_nan<F>(value) && (value & F::kQuiet) == 0;
}
template <class F>
constexpr bool is_zero(typename F::Word value) noexcept {
  return (value & ~F::kSign) == 0;
}

/// Denormals as zeros of their sign.
template <class F>
constexpr typename F::Word flushed(typename F::Word value) noexcept {
  return (value & F::kInfinity) == 0 ? value & F::kSign : value;
}

/// A word whose order, as signed numbers, is that of the values; -0 is below +0.
template <class F>
constexpr auto order_key(typename F::Word value) noexcept {
  using Word = typename F::Word;
  using Signed = std::make_signed_t<Word>;
  const Word magnitude = value & ~F::kSign;
  return (value & F::kSign) != 0 ? -static_cast<Signed>(magnitude) - 1 : static_cast<Signed>(magnitude);
}

/// v_min and v_max: the number where one is NaN; IEEE mode makes a signalling NaN quiet and returns it.
template <class F, bool Max>
constexpr typename F::Word extreme(typename F::Word a, typename F::Word b, bool ieee) noexcept {
  const bool first = Max ? order_key<F>(a) >= order_key<F>(b) : order_key<F>(a) < order_key<F>(b);
  typename F::Word result = first ? a : b;
  result = is_nan<F>(b) ? a : result;
  result = is_nan<F>(a) ? b : result;
  result = ieee && is_signalling<F>(b) ? b | F::kQuiet : result;
  return ieee && is_signalling<F>(a) ? a | F::kQuiet : result;
}

/// IEEE 754-2019 minimum and maximum: a NaN wins, a signalling one first.
template <class F, bool Max>
constexpr typename F::Word extremum(typename F::Word a, typename F::Word b) noexcept {
  const bool first = Max ? order_key<F>(a) >= order_key<F>(b) : order_key<F>(a) < order_key<F>(b);
  typename F::Word result = first ? a : b;
  result = is_nan<F>(b) ? b | F::kQuiet : result;
  result = is_nan<F>(a) && !is_signalling<F>(b) ? a | F::kQuiet : result;
  return is_signalling<F>(a) ? a | F::kQuiet : result;
}

/// v_med3: the middle one; the least number where there is a NaN.
template <class F>
constexpr typename F::Word median(typename F::Word a, typename F::Word b, typename F::Word c, bool ieee) noexcept {
  const auto same = [](auto x, auto y) { return x == y || (is_zero<F>(x) && is_zero<F>(y)); };
  const auto most = extreme<F, true>(extreme<F, true>(a, b, ieee), c, ieee);
  const auto least = extreme<F, false>(extreme<F, false>(a, b, ieee), c, ieee);
  auto result = extreme<F, true>(a, b, ieee);
  result = same(most, b) ? extreme<F, true>(a, c, ieee) : result;
  result = same(most, a) ? extreme<F, true>(b, c, ieee) : result;
  return is_nan<F>(a) || is_nan<F>(b) || is_nan<F>(c) ? least : result;
}

/// Under the `clamp` bit: into 0…1. A NaN becomes 0 where MODE.dx10_clamp is set.
template <class F>
constexpr typename F::Word clamped(typename F::Word value, bool dx10_clamp) noexcept {
  using Word = typename F::Word;
  const Word inside = order_key<F>(value) > order_key<F>(F::kOne) ? F::kOne : (value & F::kSign) != 0 ? Word{0} : value;
  return is_nan<F>(value) ? (dx10_clamp ? Word{0} : value) : inside;
}

/// Whether output modifiers work: not in IEEE mode, nor where denormal results are kept ("Output modifiers" in the
/// vector ALU chapters of AMD's ISA documents since GCN3).
constexpr bool output_modifiers(const Mode& mode, std::uint8_t denormals) noexcept {
  return !mode.ieee && (denormals & 2) == 0;
}
constexpr float kOutputFactor[] = {1.0f, 2.0f, 4.0f, 0.5f};

/// MXCSR for MODE's f16/f64 fields.
inline unsigned mxcsr_of_f64(const Mode& mode) noexcept {
  Mode as_f32;
  as_f32.round_f32 = mode.round_f16_f64;
  as_f32.denormals_f32 = mode.denormals_f16_f64;
  return mxcsr_of(as_f32);
}
/// Nearest even, denormals kept; and nearest even, denormals flushed.
constexpr unsigned kNearest = 0x1f80;
constexpr unsigned kNearestFlushed = kNearest | 0x8040;

/// An MXCSR for a scope. The compiler may move arithmetic across its ends: do it in a function that is not inlined.
class FloatScope {
 public:
  explicit FloatScope(unsigned mxcsr) noexcept : saved_(_mm_getcsr()) {
    if (different(mxcsr)) _mm_setcsr(mxcsr);
    changed_ = different(mxcsr);
  }
  ~FloatScope() {
    if (changed_) _mm_setcsr(saved_);
  }
  FloatScope(const FloatScope&) = delete;
  FloatScope& operator=(const FloatScope&) = delete;

 private:
  bool different(unsigned mxcsr) const noexcept { return ((saved_ ^ mxcsr) & ~0x3fu) != 0; }  // flags aside

  unsigned saved_;
  bool changed_ = false;
};

/// a + b in f32, rounded to odd: a later rounding to f16 is then the only one that counts. Of values that f32 holds
/// with room to spare (f16's, products of two), in nearest mode; `down`: the later rounding is downwards, where an
/// exact difference of 0 is -0. (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms
/// using rounding to odd", 2008; the error is Knuth's two-sum.)
inline float add_to_odd(float a, float b, bool down) noexcept {
  const float sum = a + b;
  const float from_b = sum - a;
  const float error = (a - (sum - from_b)) + (b - from_b);
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(sum);
  const std::uint32_t odd = (bits & 1) != 0 ? bits : (error > 0) == (sum > 0) ? bits + 1 : bits - 1;
  const bool both_zero = (std::bit_cast<std::uint32_t>(a) | std::bit_cast<std::uint32_t>(b)) == 0;
  const std::uint32_t exact = down && sum == 0 && !both_zero ? F32::kSign : bits;
  return std::bit_cast<float>(error > 0 || error < 0 ? odd : exact);
}
/// Whether f16 results are rounded downwards.
constexpr bool rounds_down(const Mode& mode) noexcept {
  return (mode.round_f16_f64 & 3) == 2;
}

/// A double as f32, rounded to odd. In nearest mode, denormals kept.
inline float narrow_to_odd(double value) noexcept {
  const float near = static_cast<float>(value);
  const double back = static_cast<double>(near);
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(near);
  const bool finite = (bits & F32::kInfinity) != F32::kInfinity;
  const std::uint32_t odd = (bits & 1) != 0 ? bits : (value > back) == (value > 0) ? bits + 1 : bits - 1;
  return std::bit_cast<float>(finite && (value > back || value < back) ? odd : bits);
}

}  // namespace ckgen::emu
