#include "conversion.hpp"

#include <limits>
#include <vector>

namespace ckgen::emu {
namespace {

/// Toward zero, out of range to the nearest end, NaN to 0. In a form that vectorises: what is converted is in range.
template <typename Integer, typename Real>
Integer truncated(Real value) noexcept {
  using Limits = std::numeric_limits<Integer>;
  constexpr Real kEnd = static_cast<Real>(Limits::max() / 2 + 1) * 2;  // one past the largest, a power of two
  constexpr Real kStart = static_cast<Real>(Limits::min());
  const bool big = value >= kEnd;
  Real inside = value == value ? value : Real(0);
  inside = inside >= kStart ? inside : kStart;
  inside = big ? Real(0) : inside;
  const Integer whole = static_cast<Integer>(inside);
  return big ? Limits::max() : whole;
}

struct ToI32 {
  static std::uint32_t of(float value) noexcept { return static_cast<std::uint32_t>(truncated<std::int32_t>(value)); }
};
struct ToU32 {
  static std::uint32_t of(float value) noexcept { return truncated<std::uint32_t>(value); }
};
/// The nearest integer, a half upward; the sum rounds as f32 arithmetic does: the ISA defines it as floor(x + 0.5f).
struct RoundUpI32 {
  static std::uint32_t of(float value) noexcept { return ToI32::of(std::floor(value + 0.5f)); }
};
struct FloorI32 {
  static std::uint32_t of(float value) noexcept { return ToI32::of(std::floor(value)); }
};

template <typename Op>
void integer_of_f32(Wave& wave, const Inst& inst) {
  const FloatSource source(wave, inst, 0);
  alignas(64) LaneArray out;
  for (unsigned lane = 0; lane < kLanes; ++lane) out[lane] = Op::of(source.value(lane));
  write_lanes(wave, inst, out);
}

template <typename Integer>
void integer_of_f64(Wave& wave, const Inst& inst) {
  const DoubleSource source(wave, inst, 0);
  alignas(64) LaneArray out;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    out[lane] = static_cast<std::uint32_t>(truncated<Integer>(source.value(lane)));
  write_lanes(wave, inst, out);
}

/// MXCSR rounds, as MODE's f32 field says.
template <typename Integer>
void f32_of_integer(Wave& wave, const Inst& inst) {
  const Lanes source(wave, inst, 0);
  alignas(64) LaneArray out;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    out[lane] = std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<Integer>(source[lane])));
  modify_f32(wave, inst, out);
  write_lanes(wave, inst, out);
}

template <unsigned Byte>
void f32_of_byte(Wave& wave, const Inst& inst) {
  const Lanes source(wave, inst, 0);
  alignas(64) LaneArray out;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const auto byte = static_cast<std::int32_t>(source[lane] >> (8 * Byte) & 0xff);
    out[lane] = std::bit_cast<std::uint32_t>(static_cast<float>(byte));
  }
  modify_f32(wave, inst, out);
  write_lanes(wave, inst, out);
}

/// A signed nibble in sixteenths.
void f32_of_offset(Wave& wave, const Inst& inst) {
  const Lanes source(wave, inst, 0);
  alignas(64) LaneArray out;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const std::int32_t nibble = static_cast<std::int32_t>(source[lane] << 28) >> 28;
    out[lane] = std::bit_cast<std::uint32_t>(static_cast<float>(nibble) * 0.0625f);
  }
  modify_f32(wave, inst, out);
  write_lanes(wave, inst, out);
}

void f32_of_f64(Wave& wave, const Inst& inst) {
  const DoubleSource source(wave, inst, 0);
  alignas(64) LaneArray out;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    out[lane] = std::bit_cast<std::uint32_t>(static_cast<float>(source.value(lane)));
  modify_f32(wave, inst, out);
  write_lanes(wave, inst, out);
}

void write_doubles(Wave& wave, const Inst& inst, double (&values)[kLanes]) {
  if (has_result_modifiers(inst)) {
    for (double& one : values) one = modified(wave, inst, one);
  }
  alignas(64) LaneArray low, high;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const auto bits = std::bit_cast<std::uint64_t>(values[lane]);
    low[lane] = static_cast<std::uint32_t>(bits);
    high[lane] = static_cast<std::uint32_t>(bits >> 32);
  }
  write_lanes(wave, inst, low, 0);
  write_lanes(wave, inst, high, 1);
}

template <typename Integer>
void f64_of_integer(Wave& wave, const Inst& inst) {
  alignas(64) double out[kLanes];
  {
    const Lanes source(wave, inst, 0);
    for (unsigned lane = 0; lane < kLanes; ++lane) out[lane] = static_cast<double>(static_cast<Integer>(source[lane]));
  }
  write_doubles(wave, inst, out);
}

void f64_of_f32(Wave& wave, const Inst& inst) {
  alignas(64) double out[kLanes];
  {
    const FloatSource source(wave, inst, 0);
    for (unsigned lane = 0; lane < kLanes; ++lane) out[lane] = static_cast<double>(source.value(lane));
  }
  write_doubles(wave, inst, out);
}

/// Rounded as MODE's f32 field says, to 0…255; NaN to 0.
std::uint32_t byte_of(float value) noexcept {
  const float rounded = std::nearbyint(value);
  const float low = rounded > 0 ? rounded : 0.0f;
  return static_cast<std::uint32_t>(static_cast<std::int32_t>(low < 255 ? low : 255.0f));
}

/// Source 1 says which byte of source 2 is replaced.
void pack_byte(Wave& wave, const Inst& inst) {
  const FloatSource value(wave, inst, 0);
  const Lanes position(wave, inst, 1);
  const Lanes other(wave, inst, 2);
  alignas(64) LaneArray out;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const unsigned shift = 8 * (position[lane] & 3);
    out[lane] = (other[lane] & ~(0xffu << shift)) | byte_of(value.value(lane)) << shift;
  }
  write_lanes(wave, inst, out);
}

/// The same into the destination itself.
void pack_byte_in_place(Wave& wave, const Inst& inst) {
  const FloatSource value(wave, inst, 0);
  const Lanes position(wave, inst, 1);
  const std::uint32_t* other = destination(wave, inst, inst.dst);
  alignas(64) LaneArray out;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const unsigned shift = 8 * (position[lane] & 3);
    out[lane] = (other[lane] & ~(0xffu << shift)) | byte_of(value.value(lane)) << shift;
  }
  write_lanes(wave, inst, out);
}

struct NarrowU16 {
  static std::uint32_t of(std::uint32_t value) noexcept { return value < 0xffff ? value : 0xffff; }
};
struct NarrowI16 {
  static std::uint32_t of(std::uint32_t value) noexcept {
    const auto number = static_cast<std::int32_t>(value);
    const std::int32_t low = number < 32767 ? number : 32767;
    return static_cast<std::uint32_t>(low > -32768 ? low : -32768) & 0xffff;
  }
};

template <typename Op>
void pack_integers(Wave& wave, const Inst& inst) {
  const Lanes low(wave, inst, 0);
  const Lanes high(wave, inst, 1);
  alignas(64) LaneArray out;
  for (unsigned lane = 0; lane < kLanes; ++lane) out[lane] = Op::of(low[lane]) | Op::of(high[lane]) << 16;
  write_lanes(wave, inst, out);
}

void random(Wave& wave, const Inst& inst) {
  const Lanes source(wave, inst, 0);
  alignas(64) LaneArray out;
  for (unsigned lane = 0; lane < kLanes; ++lane) out[lane] = next_random(source[lane]);
  write_lanes(wave, inst, out);
}

constexpr Semantics entry(std::string_view name, Handler handler, std::uint16_t traits = 0) {
  return {name, handler, handler, traits};
}

constexpr Semantics kAll[] = {
    entry("v_cvt_i32_f32", integer_of_f32<ToI32>),
    entry("v_cvt_u32_f32", integer_of_f32<ToU32>),
    entry("v_cvt_rpi_i32_f32", integer_of_f32<RoundUpI32>),
    entry("v_cvt_flr_i32_f32", integer_of_f32<FloorI32>),
    entry("v_cvt_i32_f64", integer_of_f64<std::int32_t>),
    entry("v_cvt_u32_f64", integer_of_f64<std::uint32_t>),
    entry("v_cvt_f32_i32", f32_of_integer<std::int32_t>),
    entry("v_cvt_f32_u32", f32_of_integer<std::uint32_t>),
    entry("v_cvt_f32_ubyte0", f32_of_byte<0>),
    entry("v_cvt_f32_ubyte1", f32_of_byte<1>),
    entry("v_cvt_f32_ubyte2", f32_of_byte<2>),
    entry("v_cvt_f32_ubyte3", f32_of_byte<3>),
    entry("v_cvt_off_f32_i4", f32_of_offset),
    entry("v_cvt_f32_f64", f32_of_f64),
    entry("v_cvt_f64_i32", f64_of_integer<std::int32_t>),
    entry("v_cvt_f64_u32", f64_of_integer<std::uint32_t>),
    entry("v_cvt_f64_f32", f64_of_f32),
    entry("v_cvt_pk_u8_f32", pack_byte),
    entry("v_cvt_pkaccum_u8_f32", pack_byte_in_place, kReadsDestination),
    entry("v_cvt_pk_u16_u32", pack_integers<NarrowU16>),
    entry("v_cvt_pk_i16_i32", pack_integers<NarrowI16>),
    entry("v_prng_b32", random),
};

}  // namespace

std::span<const Semantics> conversion_32() noexcept {
  return kAll;
}

std::span<const Semantics> conversion_semantics() noexcept {
  static const auto all = [] {
    std::vector<Semantics> joined;
    for (const auto part : {conversion_32(), conversion_16(), conversion_8(), conversion_scaled()})
      joined.insert(joined.end(), part.begin(), part.end());
    return joined;
  }();
  return all;
}

}  // namespace ckgen::emu
