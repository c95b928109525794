#include "float_lanes.hpp"

#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "formats.hpp"

namespace ckgen::emu {
namespace {

/// What abs and neg do to a source's sign bit.
template <class F>
struct Signs {
  typename F::Word keep, flip;

  Signs(const Inst& inst, unsigned index) noexcept
      : keep((inst.abs >> index & 1) != 0 ? static_cast<typename F::Word>(~F::kSign)
                                          : static_cast<typename F::Word>(~0ull)),
        flip((inst.neg >> index & 1) != 0 ? F::kSign : 0) {}
  typename F::Word operator()(typename F::Word value) const noexcept { return (value & keep) ^ flip; }
};

/// MODE's flushing of inputs; all ones where a denormal's magnitude is kept.
template <class F>
typename F::Word kept_magnitude(std::uint8_t denormals) noexcept {
  return (denormals & 1) != 0 ? static_cast<typename F::Word>(~0ull) : F::kSign;
}

/// omod has no negative zero.
template <class F>
constexpr typename F::Word without_minus(typename F::Word value) noexcept {
  return value == F::kSign ? 0 : value;
}

unsigned half_shift(const Inst& inst, unsigned index) noexcept {
  return (inst.op_sel >> index & 1) * 16u;
}

template <int Rounding>
void narrow_as(const Row<float>& values, Row<std::uint32_t>& halves) noexcept {
#ifdef __F16C__
  for (unsigned lane = 0; lane < kLanes; lane += 8) {
    const __m128i packed = _mm256_cvtps_ph(_mm256_load_ps(&values.v[lane]), Rounding);
    _mm256_store_si256(reinterpret_cast<__m256i*>(&halves.v[lane]), _mm256_cvtepu16_epi32(packed));
  }
#else
  constexpr auto kMode = Rounding == 1   ? emu::Rounding::down
                         : Rounding == 2 ? emu::Rounding::up
                         : Rounding == 3 ? emu::Rounding::zero
                                         : emu::Rounding::nearest_even;
  for (unsigned lane = 0; lane < kLanes; ++lane) halves[lane] = f32_to_f16(values[lane], kMode);
#endif
}

}  // namespace

void read_f32(const Wave& wave, const Inst& inst, unsigned index, Row<float>& out) noexcept {
  const Lanes from(wave, inst, index);
  const Signs<F32> signs(inst, index);
  for (unsigned lane = 0; lane < kLanes; ++lane) out[lane] = std::bit_cast<float>(signs(from[lane]));
}

void read_f32_bits(const Wave& wave, const Inst& inst, unsigned index, Row<std::uint32_t>& out) noexcept {
  const Lanes from(wave, inst, index);
  const Signs<F32> signs(inst, index);
  const std::uint32_t kept = kept_magnitude<F32>(wave.mode.denormals_f32);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const std::uint32_t value = signs(from[lane]);
    out[lane] = (value & F32::kInfinity) == 0 ? value & kept : value;
  }
}

void read_f16_bits(const Wave& wave, const Inst& inst, unsigned index, Row<std::uint32_t>& out) noexcept {
  const Lanes from(wave, inst, index);
  const Signs<F16> signs(inst, index);
  const unsigned shift = half_shift(inst, index);
  const std::uint32_t kept = kept_magnitude<F16>(wave.mode.denormals_f16_f64);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const std::uint32_t value = signs(from[lane] >> shift & 0xffff);
    out[lane] = (value & F16::kInfinity) == 0 ? value & kept : value;
  }
}

void read_f16(const Wave& wave, const Inst& inst, unsigned index, Row<float>& out) noexcept {
  Row<std::uint32_t> bits;
  read_f16_bits(wave, inst, index, bits);
  widen(bits, out);
}

void read_f64_bits(const Wave& wave, const Inst& inst, unsigned index, Row<std::uint64_t>& out) noexcept {
  read_u64(wave, inst, index, out);
  const Signs<F64> signs(inst, index);
  const std::uint64_t kept = kept_magnitude<F64>(wave.mode.denormals_f16_f64);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const std::uint64_t value = signs(out[lane]);
    out[lane] = (value & F64::kInfinity) == 0 ? value & kept : value;
  }
}

void read_f64(const Wave& wave, const Inst& inst, unsigned index, Row<double>& out) noexcept {
  Row<std::uint64_t> bits;
  read_f64_bits(wave, inst, index, bits);
  std::memcpy(&out, &bits, sizeof out);
}

void read_u16(const Wave& wave, const Inst& inst, unsigned index, Row<std::uint32_t>& out) noexcept {
  const Lanes from(wave, inst, index);
  const unsigned shift = half_shift(inst, index);
  for (unsigned lane = 0; lane < kLanes; ++lane) out[lane] = from[lane] >> shift & 0xffff;
}

void read_i16(const Wave& wave, const Inst& inst, unsigned index, Row<std::int32_t>& out) noexcept {
  const Lanes from(wave, inst, index);
  const unsigned shift = half_shift(inst, index);
  for (unsigned lane = 0; lane < kLanes; ++lane) out[lane] = static_cast<std::int16_t>(from[lane] >> shift);
}

void read_u64(const Wave& wave, const Inst& inst, unsigned index, Row<std::uint64_t>& out) noexcept {
  const Lanes low(wave, inst, index, 0);
  const Lanes high(wave, inst, index, 1);
  for (unsigned lane = 0; lane < kLanes; ++lane) out[lane] = low[lane] | static_cast<std::uint64_t>(high[lane]) << 32;
}

void read_destination(Wave& wave, const Inst& inst, Row<std::uint32_t>& out, unsigned part) noexcept {
  std::copy_n(destination(wave, inst, inst.dst, part), kLanes, out.v);
}

void widen(const Row<std::uint32_t>& halves, Row<float>& out) noexcept {
#ifdef __F16C__
  for (unsigned lane = 0; lane < kLanes; lane += 8) {
    const __m256i wide = _mm256_load_si256(reinterpret_cast<const __m256i*>(&halves.v[lane]));
    const __m128i packed = _mm_packus_epi32(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));
    _mm256_store_ps(&out.v[lane], _mm256_cvtph_ps(packed));
  }
#else
  for (unsigned lane = 0; lane < kLanes; ++lane) out[lane] = f16_to_f32(static_cast<std::uint16_t>(halves[lane]));
#endif
}

void narrow(const Mode& mode, const Row<float>& values, Row<std::uint32_t>& halves) noexcept {
  switch (mode.round_f16_f64 & 3) {  // x86 numbers down and up the other way round
    case 0: narrow_as<0>(values, halves); break;
    case 1: narrow_as<2>(values, halves); break;
    case 2: narrow_as<1>(values, halves); break;
    default: narrow_as<3>(values, halves); break;
  }
  if ((mode.denormals_f16_f64 & 2) != 0) return;
  for (unsigned lane = 0; lane < kLanes; ++lane) halves[lane] = flushed<F16>(halves[lane]);
}

void write_f32(Wave& wave, const Inst& inst, Row<float>& values, unsigned part) noexcept {
  if (inst.omod != 0 && output_modifiers(wave.mode, wave.mode.denormals_f32)) {
    const float factor = kOutputFactor[inst.omod & 3];
    for (unsigned lane = 0; lane < kLanes; ++lane) values[lane] = values[lane] * factor + 0.0f;  // -0 becomes +0
  }
  Row<std::uint32_t> bits;
  std::memcpy(&bits, &values, sizeof bits);
  if (inst.clamp) {
    for (unsigned lane = 0; lane < kLanes; ++lane) bits[lane] = clamped<F32>(bits[lane], wave.mode.dx10_clamp);
  }
  write_lanes(wave, inst, bits.v, part);
}

void write_f32_bits(Wave& wave, const Inst& inst, Row<std::uint32_t>& values, unsigned part) noexcept {
  if (inst.omod == 0 && !inst.clamp) return write_lanes(wave, inst, values.v, part);
  Row<float> floats;
  std::memcpy(&floats, &values, sizeof floats);
  write_f32(wave, inst, floats, part);
}

void finish_f16(const Mode& mode, const Inst& inst, Row<std::uint32_t>& values) noexcept {
  if (inst.omod != 0 && output_modifiers(mode, mode.denormals_f16_f64)) {
    Row<float> wide;
    widen(values, wide);
    const float factor = kOutputFactor[inst.omod & 3];
    for (unsigned lane = 0; lane < kLanes; ++lane) wide[lane] = wide[lane] * factor;
    narrow(mode, wide, values);
    for (unsigned lane = 0; lane < kLanes; ++lane) values[lane] = without_minus<F16>(values[lane]);
  }
  if (!inst.clamp) return;
  for (unsigned lane = 0; lane < kLanes; ++lane) values[lane] = clamped<F16>(values[lane], mode.dx10_clamp);
}

void write_f16_bits(Wave& wave, const Inst& inst, Row<std::uint32_t>& values, HighHalf high) noexcept {
  finish_f16(wave.mode, inst, values);
  write_half(wave, inst, values, high);
}

void write_f16(Wave& wave, const Inst& inst, Row<float>& values, HighHalf high) noexcept {
  Row<std::uint32_t> halves;
  narrow(wave.mode, values, halves);
  write_f16_bits(wave, inst, halves, high);
}

void write_f64_bits(Wave& wave, const Inst& inst, Row<std::uint64_t>& values) noexcept {
  if (inst.omod != 0 && output_modifiers(wave.mode, wave.mode.denormals_f16_f64)) {
    const double factor = static_cast<double>(kOutputFactor[inst.omod & 3]);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const double scaled = std::bit_cast<double>(values[lane]) * factor;
      values[lane] = without_minus<F64>(flushed<F64>(std::bit_cast<std::uint64_t>(scaled)));
    }
  }
  if (inst.clamp) {
    for (unsigned lane = 0; lane < kLanes; ++lane) values[lane] = clamped<F64>(values[lane], wave.mode.dx10_clamp);
  }
  write_u64(wave, inst, values);
}

void write_f64(Wave& wave, const Inst& inst, Row<double>& values) noexcept {
  Row<std::uint64_t> bits;
  std::memcpy(&bits, &values, sizeof bits);
  write_f64_bits(wave, inst, bits);
}

void write_half(Wave& wave, const Inst& inst, const Row<std::uint32_t>& values, HighHalf high) noexcept {
  const bool upper = (inst.op_sel & 8) != 0;
  if (!upper && (high == HighHalf::zero || inst.special == Special::sdwa)) return write_lanes(wave, inst, values.v);
  Row<std::uint32_t> whole;
  read_destination(wave, inst, whole);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    whole[lane] = upper ? (whole[lane] & 0xffff) | values[lane] << 16 : (whole[lane] & 0xffff'0000) | values[lane];
  }
  write_lanes(wave, inst, whole.v);
}

void write_u64(Wave& wave, const Inst& inst, const Row<std::uint64_t>& values, unsigned part) noexcept {
  Row<std::uint32_t> low, high;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    low[lane] = static_cast<std::uint32_t>(values[lane]);
    high[lane] = static_cast<std::uint32_t>(values[lane] >> 32);
  }
  write_lanes(wave, inst, low.v, part);
  write_lanes(wave, inst, high.v, part + 1);
}

LaneMask read_mask(const Wave& wave, const Inst& inst, const Operand& operand) noexcept {
  return scalar_value64(wave, inst, {operand.code, 2, Number::bits});
}

LaneMask mask_of(const Row<std::uint8_t>& flags) noexcept {
  LaneMask mask = 0;
  for (unsigned byte = 0; byte < kLanes / 8; ++byte) {
    std::uint64_t eight;
    std::memcpy(&eight, &flags.v[8 * byte], sizeof eight);
    mask |= (eight * 0x0102'0408'1020'4080 >> 56) << (8 * byte);  // gathers the eight lowest bits
  }
  return mask;
}

}  // namespace ckgen::emu
