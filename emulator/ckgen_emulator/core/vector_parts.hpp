// The parts that vector_semantics() joins, and the loops that they share. An operation is a function of one lane's
// values, given as a template argument.
#pragma once

#include <algorithm>
#include <limits>
#include <span>

#include "float_lanes.hpp"
#include "semantics.hpp"

namespace ckgen::emu {

std::span<const Semantics> vector_int32_semantics() noexcept;
std::span<const Semantics> vector_int16_semantics() noexcept;
std::span<const Semantics> vector_int64_semantics() noexcept;
std::span<const Semantics> vector_bytes_semantics() noexcept;
std::span<const Semantics> vector_f32_semantics() noexcept;
std::span<const Semantics> vector_f16_semantics() noexcept;
std::span<const Semantics> vector_f64_semantics() noexcept;
std::span<const Semantics> vector_transcendental_semantics() noexcept;
std::span<const Semantics> vector_divide_semantics() noexcept;

/// Nothing but registers is checked: one function serves both runs.
constexpr Semantics plain_semantics(std::string_view name, Handler run, std::uint16_t traits = 0) noexcept {
  return {name, run, run, traits};
}

/// `value` cut to `Result`, or under clamp the nearest that it holds.
template <class Result>
constexpr Result saturated(std::int64_t value) noexcept {
  constexpr std::int64_t low = std::numeric_limits<Result>::min(), high = std::numeric_limits<Result>::max();
  return static_cast<Result>(value < low ? low : value > high ? high : value);
}

/// dst = Op(bits of the sources), 32 bits each.
template <unsigned Sources, auto Op>
void bits32(Wave& wave, const Inst& inst) {
  const Lanes a(wave, inst, 0);
  Row<std::uint32_t> r;
  if constexpr (Sources == 1) {
    for (unsigned lane = 0; lane < kLanes; ++lane) r[lane] = Op(a[lane]);
  } else {
    const Lanes b(wave, inst, 1);
    if constexpr (Sources == 2) {
      for (unsigned lane = 0; lane < kLanes; ++lane) r[lane] = Op(a[lane], b[lane]);
    } else {
      const Lanes c(wave, inst, 2);
      for (unsigned lane = 0; lane < kLanes; ++lane) r[lane] = Op(a[lane], b[lane], c[lane]);
    }
  }
  write_lanes(wave, inst, r.v);
}

/// f32 operation under MODE as it stands in MXCSR.
template <unsigned Sources, auto Op>
void f32_op(Wave& wave, const Inst& inst) {
  Row<float> a, b, c, r;
  read_f32(wave, inst, 0, a);
  if constexpr (Sources > 1) read_f32(wave, inst, 1, b);
  if constexpr (Sources > 2) read_f32(wave, inst, 2, c);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if constexpr (Sources == 1) r[lane] = Op(a[lane]);
    if constexpr (Sources == 2) r[lane] = Op(a[lane], b[lane]);
    if constexpr (Sources == 3) r[lane] = Op(a[lane], b[lane], c[lane]);
  }
  write_f32(wave, inst, r);
}

/// f32 operation on bits: what compares or moves. Op takes the bits, then IEEE mode.
template <unsigned Sources, auto Op>
void f32_bits_op(Wave& wave, const Inst& inst) {
  Row<std::uint32_t> a, b, c, r;
  read_f32_bits(wave, inst, 0, a);
  read_f32_bits(wave, inst, 1, b);
  if constexpr (Sources > 2) read_f32_bits(wave, inst, 2, c);
  const bool ieee = wave.mode.ieee;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if constexpr (Sources == 2) r[lane] = Op(a[lane], b[lane], ieee);
    if constexpr (Sources == 3) r[lane] = Op(a[lane], b[lane], c[lane], ieee);
  }
  write_f32_bits(wave, inst, r);
}

}  // namespace ckgen::emu
