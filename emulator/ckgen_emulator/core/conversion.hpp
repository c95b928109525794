// What the conversion handlers share: sources with their modifiers, results with theirs, parts of a destination.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <span>

#include "formats.hpp"
#include "lanes.hpp"
#include "launch.hpp"
#include "semantics.hpp"

namespace ckgen::emu {

std::span<const Semantics> conversion_32() noexcept;      // between f32, f64 and integers
std::span<const Semantics> conversion_16() noexcept;      // f16, bf16, normalised integers
std::span<const Semantics> conversion_8() noexcept;       // fp8, bf8
std::span<const Semantics> conversion_scaled() noexcept;  // v_cvt_scalef32_*

using LaneArray = std::uint32_t[kLanes];

/// A source in every lane after abs and neg, its sign at bit 31, or 15 for the 16-bit formats (`half`: op_sel says
/// which half it is); f32's denormals are flushed if MODE says so.
class FloatSource {
 public:
  FloatSource(const Wave& wave, const Inst& inst, unsigned index, bool half = false, unsigned part = 0) noexcept
      : lanes_(wave, inst, index, part), values_(lanes_.data()) {
    const bool negated = (inst.neg >> index & 1) != 0;
    const bool absolute = (inst.abs >> index & 1) != 0;
    const bool flush = !half && (wave.mode.denormals_f32 & 1) == 0;
    const unsigned down = half && (inst.op_sel >> index & 1) != 0 ? 16 : 0;
    if (!negated && !absolute && !flush && down == 0) return;
    const std::uint32_t sign = half ? 0x8000 : kF32Sign;
    const std::uint32_t keep = absolute ? ~sign : ~0u;
    const std::uint32_t flip = negated ? sign : 0;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const std::uint32_t value = (values_[lane] >> down & keep) ^ flip;
      own_[lane] = flush && (value & kF32Infinity) == 0 ? value & kF32Sign : value;
    }
    values_ = own_;
  }
  FloatSource(const FloatSource&) = delete;
  FloatSource& operator=(const FloatSource&) = delete;

  std::uint32_t operator[](unsigned lane) const noexcept { return values_[lane]; }
  float value(unsigned lane) const noexcept { return std::bit_cast<float>(values_[lane]); }

 private:
  Lanes lanes_;
  const std::uint32_t* values_;
  alignas(64) LaneArray own_;
};

/// The f64 source `index`, high dword's sign changed by abs and neg.
class DoubleSource {
 public:
  DoubleSource(const Wave& wave, const Inst& inst, unsigned index) noexcept
      : low_(wave, inst, index, 0),
        high_(wave, inst, index, 1),
        keep_((inst.abs >> index & 1) != 0 ? ~kF32Sign : ~0u),
        flip_((inst.neg >> index & 1) != 0 ? kF32Sign : 0) {}
  double value(unsigned lane) const noexcept {
    return std::bit_cast<double>(static_cast<std::uint64_t>((high_[lane] & keep_) ^ flip_) << 32 | low_[lane]);
  }

 private:
  Lanes low_, high_;
  std::uint32_t keep_, flip_;
};

constexpr bool has_result_modifiers(const Inst& inst) noexcept {
  return inst.omod != 0 || inst.clamp;
}

/// omod (1 ×2, 2 ×4, 3 ÷2), then clamp to 0…1; NaN becomes 0 if MODE.dx10_clamp. Source: CDNA3 ISA, "Output modifiers".
template <typename Real>
Real modified(const Wave& wave, const Inst& inst, Real value) noexcept {
  constexpr Real kFactor[] = {1, 2, 4, Real(0.5)};
  if (inst.omod != 0) value *= kFactor[inst.omod & 3];
  if (!inst.clamp) return value;
  if (std::isnan(value)) return wave.mode.dx10_clamp ? Real(0) : value;
  return value > Real(1) ? Real(1) : value > Real(0) ? value : Real(0);
}

inline void modify_f32(const Wave& wave, const Inst& inst, LaneArray& values) noexcept {
  if (!has_result_modifiers(inst)) return;
  for (std::uint32_t& one : values) one = std::bit_cast<std::uint32_t>(modified(wave, inst, std::bit_cast<float>(one)));
}

/// f32's denormal results become zeros of their sign if MODE says so; for results that no f32 instruction of the host
/// gave.
constexpr std::uint32_t flushed_f32(std::uint32_t bits, bool flush) noexcept {
  return flush & ((bits & kF32Infinity) == 0) ? bits & kF32Sign : bits;
}
constexpr std::uint32_t flushed_f16(std::uint32_t half, bool flush) noexcept {
  return flush & ((half & 0x7c00) == 0) ? half & 0x8000 : half;
}
inline bool flushes_f32_results(const Wave& wave) noexcept {
  return (wave.mode.denormals_f32 & 2) == 0;
}
inline bool flushes_f16_results(const Wave& wave) noexcept {
  return (wave.mode.denormals_f16_f64 & 2) == 0;
}
inline bool flushes_f16_sources(const Wave& wave) noexcept {
  return (wave.mode.denormals_f16_f64 & 1) == 0;
}
inline Rounding f16_rounding(const Wave& wave) noexcept {
  return static_cast<Rounding>(wave.mode.round_f16_f64 & 3);
}

/// Writes `bits` of every lane's destination from bit `shift` on. What stays may be undefined: CK's fp8 casts leave it
/// so on purpose, which is why opcodes that write a part do not count as reading their destination.
inline void write_part(Wave& wave, const Inst& inst, LaneArray& values, unsigned shift, unsigned bits) noexcept {
  const std::uint32_t* old = destination(wave, inst, inst.dst);
  const std::uint32_t field = (bits == 32 ? ~0u : (1u << bits) - 1) << shift;
  for (unsigned lane = 0; lane < kLanes; ++lane) values[lane] = (old[lane] & ~field) | (values[lane] << shift & field);
  write_lanes(wave, inst, values);
}
/// By op_sel[3]: the half that a 16-bit result goes to; by op_sel[3:2]: the byte of an 8-bit one.
constexpr unsigned destination_half(const Inst& inst) noexcept {
  return inst.op_sel >> 3 & 1u ? 16 : 0;
}
constexpr unsigned destination_byte(const Inst& inst) noexcept {
  return 8u * (inst.op_sel >> 2 & 3u);
}

/// One step of the generator that the stochastic conversions of several elements draw from: v_prng_b32.
constexpr std::uint32_t next_random(std::uint32_t state) noexcept {
  return state << 1 ^ (state >> 31 != 0 ? 197u : 0u);
}

}  // namespace ckgen::emu
