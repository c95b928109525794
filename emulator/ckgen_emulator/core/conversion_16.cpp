#include "conversion.hpp"

namespace ckgen::emu {
namespace {

/// What MODE says of f16 results.
struct F16Mode {
  Rounding rounding;
  bool saturate, flush;

  explicit F16Mode(const Wave& wave) noexcept
      : rounding(f16_rounding(wave)), saturate(wave.mode.fp16_overflow), flush(flushes_f16_results(wave)) {}

  std::uint32_t operator()(std::uint32_t f32) const noexcept {
    return flushed_f16(encode(kF16, f32, rounding, saturate), flush);
  }
};

/// f16 sources as f32, MODE's flushing of denormals considered.
class HalfSource {
 public:
  HalfSource(const Wave& wave, const Inst& inst, unsigned index) noexcept
      : halves_(wave, inst, index, true), flush_(flushes_f16_sources(wave)) {}
  std::uint32_t operator[](unsigned lane) const noexcept {
    return f16_to_f32_bits(flushed_f16(halves_[lane] & 0xffff, flush_));
  }
  float value(unsigned lane) const noexcept { return std::bit_cast<float>((*this)[lane]); }

 private:
  FloatSource halves_;
  bool flush_;
};

/// A 16-bit result of these opcodes clears the upper half.
void write_halves(Wave& wave, const Inst& inst, LaneArray& values) {
  if (has_result_modifiers(inst)) {
    const F16Mode mode(wave);
    for (std::uint32_t& one : values) {
      const float value = modified(wave, inst, std::bit_cast<float>(f16_to_f32_bits(one)));
      one = mode(std::bit_cast<std::uint32_t>(value));
    }
  }
  write_lanes(wave, inst, values);
}

void f16_of_f32(Wave& wave, const Inst& inst) {
  const FloatSource source(wave, inst, 0);
  const F16Mode mode(wave);
  alignas(64) LaneArray out;
  if (mode.rounding == Rounding::nearest_even && !mode.saturate && !mode.flush) {
    for (unsigned lane = 0; lane < kLanes; ++lane) out[lane] = encode(kF16, source[lane]);
  } else {
    for (unsigned lane = 0; lane < kLanes; ++lane) out[lane] = mode(source[lane]);
  }
  write_halves(wave, inst, out);
}

void f32_of_f16(Wave& wave, const Inst& inst) {
  const HalfSource source(wave, inst, 0);
  alignas(64) LaneArray out;
  for (unsigned lane = 0; lane < kLanes; ++lane) out[lane] = source[lane];
  modify_f32(wave, inst, out);
  write_lanes(wave, inst, out);
}

/// No arithmetic: a bf16 is the upper half of an f32.
void f32_of_bf16(Wave& wave, const Inst& inst) {
  const FloatSource source(wave, inst, 0, true);
  alignas(64) LaneArray out;
  for (unsigned lane = 0; lane < kLanes; ++lane) out[lane] = source[lane] << 16;
  modify_f32(wave, inst, out);
  write_lanes(wave, inst, out);
}

template <typename Integer>
void f16_of_integer(Wave& wave, const Inst& inst) {
  const Lanes source(wave, inst, 0);
  const F16Mode mode(wave);
  alignas(64) LaneArray out;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const std::int32_t whole = static_cast<Integer>(source[lane]);
    out[lane] = mode(std::bit_cast<std::uint32_t>(static_cast<float>(whole)));
  }
  write_halves(wave, inst, out);
}

/// Toward zero; out of range to the nearest end, NaN to 0.
template <int Low, int High>
void integer_of_f16(Wave& wave, const Inst& inst) {
  const HalfSource source(wave, inst, 0);
  alignas(64) LaneArray out;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const float value = source.value(lane);
    float inside = value == value ? value : 0.0f;
    inside = inside > static_cast<float>(Low) ? inside : static_cast<float>(Low);
    inside = inside < static_cast<float>(High) ? inside : static_cast<float>(High);
    out[lane] = static_cast<std::uint32_t>(static_cast<std::int32_t>(inside)) & 0xffff;
  }
  write_lanes(wave, inst, out);
}

/// -1…1 or 0…1 to a fraction of the largest integer, to nearest even; NaN to 0. f64 holds the product exactly.
template <bool Signed>
std::uint32_t normalised(float value) noexcept {
  constexpr double kLeast = Signed ? -1.0 : 0.0;
  double inside = static_cast<double>(value);
  inside = inside == inside ? inside : 0.0;
  inside = inside > kLeast ? inside : kLeast;
  inside = inside < 1.0 ? inside : 1.0;
  const double product = inside * (Signed ? 32767.0 : 65535.0);
  const double below = std::floor(product);
  const auto whole = static_cast<std::int32_t>(below);
  const double rest = product - below;
  const std::int32_t up = (rest > 0.5) | ((rest == 0.5) & ((whole & 1) != 0));
  return static_cast<std::uint32_t>(whole + up) & 0xffff;
}

template <bool Signed>
void normalised_f16(Wave& wave, const Inst& inst) {
  const HalfSource source(wave, inst, 0);
  alignas(64) LaneArray out;
  for (unsigned lane = 0; lane < kLanes; ++lane) out[lane] = normalised<Signed>(source.value(lane));
  write_lanes(wave, inst, out);
}

template <typename Source, bool Signed>
void pack_normalised(Wave& wave, const Inst& inst) {
  const Source low(wave, inst, 0);
  const Source high(wave, inst, 1);
  alignas(64) LaneArray out;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    out[lane] = normalised<Signed>(low.value(lane)) | normalised<Signed>(high.value(lane)) << 16;
  write_lanes(wave, inst, out);
}

template <FloatFormat F, Rounding R>
void pack_f32(Wave& wave, const Inst& inst) {
  const FloatSource low(wave, inst, 0);
  const FloatSource high(wave, inst, 1);
  const bool saturate = F.bias == kF16.bias && wave.mode.fp16_overflow;
  const bool flush = F.bias == kF16.bias && flushes_f16_results(wave);
  alignas(64) LaneArray out;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const std::uint32_t first = flushed_f16(encode(F, low[lane], R, saturate), flush);
    out[lane] = first | flushed_f16(encode(F, high[lane], R, saturate), flush) << 16;
  }
  write_lanes(wave, inst, out);
}

template <FloatFormat F>
void stochastic_f32(Wave& wave, const Inst& inst) {
  const FloatSource value(wave, inst, 0);
  const Lanes random(wave, inst, 1);
  const bool saturate = F.bias == kF16.bias && wave.mode.fp16_overflow;
  const bool flush = F.bias == kF16.bias && flushes_f16_results(wave);
  alignas(64) LaneArray out;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    out[lane] = flushed_f16(encode_stochastic(F, value[lane], random[lane], saturate), flush);
  write_part(wave, inst, out, destination_half(inst), 16);
}

constexpr Semantics entry(std::string_view name, Handler handler) {
  return {name, handler, handler, 0};
}

constexpr Semantics kAll[] = {
    entry("v_cvt_f16_f32", f16_of_f32),
    entry("v_cvt_f32_f16", f32_of_f16),
    entry("v_cvt_f32_bf16", f32_of_bf16),
    entry("v_cvt_f16_u16", f16_of_integer<std::uint16_t>),
    entry("v_cvt_f16_i16", f16_of_integer<std::int16_t>),
    entry("v_cvt_u16_f16", integer_of_f16<0, 65535>),
    entry("v_cvt_i16_f16", integer_of_f16<-32768, 32767>),
    entry("v_cvt_norm_i16_f16", normalised_f16<true>),
    entry("v_cvt_norm_u16_f16", normalised_f16<false>),
    entry("v_cvt_pknorm_i16_f32", pack_normalised<FloatSource, true>),
    entry("v_cvt_pknorm_u16_f32", pack_normalised<FloatSource, false>),
    entry("v_cvt_pknorm_i16_f16", pack_normalised<HalfSource, true>),
    entry("v_cvt_pknorm_u16_f16", pack_normalised<HalfSource, false>),
    entry("v_cvt_pkrtz_f16_f32", pack_f32<kF16, Rounding::zero>),
    entry("v_cvt_pk_f16_f32", pack_f32<kF16, Rounding::nearest_even>),
    entry("v_cvt_pk_bf16_f32", pack_f32<kBf16, Rounding::nearest_even>),
    entry("v_cvt_sr_f16_f32", stochastic_f32<kF16>),
    entry("v_cvt_sr_bf16_f32", stochastic_f32<kBf16>),
};

}  // namespace

std::span<const Semantics> conversion_16() noexcept {
  return kAll;
}

}  // namespace ckgen::emu
