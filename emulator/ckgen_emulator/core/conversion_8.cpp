#include "conversion.hpp"

namespace ckgen::emu {
namespace {

/// One byte, SDWA's selection or the lowest.
template <FloatFormat F>
struct Widen {
  static void run(Wave& wave, const Inst& inst) noexcept {
    const Lanes source(wave, inst, 0);
    alignas(64) LaneArray out;
    for (unsigned lane = 0; lane < kLanes; ++lane) out[lane] = kDecodedBits<F>[source[lane] & 0xff];
    modify_f32(wave, inst, out);
    write_lanes(wave, inst, out);
  }
};

/// Two bytes of a word: SDWA's selection, op_sel[0], or the lower one.
template <FloatFormat F>
struct WidenPair {
  static void run(Wave& wave, const Inst& inst) noexcept {
    const Lanes source(wave, inst, 0);
    const unsigned shift = (inst.op_sel & 1) != 0 ? 16 : 0;
    alignas(64) LaneArray low, high;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      low[lane] = kDecodedBits<F>[source[lane] >> shift & 0xff];
      high[lane] = kDecodedBits<F>[source[lane] >> (shift + 8) & 0xff];
    }
    modify_f32(wave, inst, low);
    modify_f32(wave, inst, high);
    write_lanes(wave, inst, low, 0);
    write_lanes(wave, inst, high, 1);
  }
};

/// Nearest even; MODE.fp16_ovfl saturates, else overflow is NaN or infinity.
template <FloatFormat F>
struct NarrowPair {
  static void run(Wave& wave, const Inst& inst) noexcept {
    const FloatSource low(wave, inst, 0);
    const FloatSource high(wave, inst, 1);
    const bool saturate = wave.mode.fp16_overflow;
    alignas(64) LaneArray out;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      out[lane] = encode(F, low[lane], Rounding::nearest_even, saturate) |
                  encode(F, high[lane], Rounding::nearest_even, saturate) << 8;
    }
    write_part(wave, inst, out, destination_half(inst), 16);
  }
};

template <FloatFormat F>
struct NarrowStochastic {
  static void run(Wave& wave, const Inst& inst) noexcept {
    const FloatSource value(wave, inst, 0);
    const Lanes random(wave, inst, 1);
    const bool saturate = wave.mode.fp16_overflow;
    alignas(64) LaneArray out;
    for (unsigned lane = 0; lane < kLanes; ++lane)
      out[lane] = encode_stochastic(F, value[lane], random[lane], saturate);
    write_part(wave, inst, out, destination_byte(inst), 8);
  }
};

template <template <FloatFormat> class Op>
void fp8(Wave& wave, const Inst& inst) {
  wave.launch->chip.processor.fnuz ? Op<kFp8Fnuz>::run(wave, inst) : Op<kFp8>::run(wave, inst);
}

template <template <FloatFormat> class Op>
void bf8(Wave& wave, const Inst& inst) {
  wave.launch->chip.processor.fnuz ? Op<kBf8Fnuz>::run(wave, inst) : Op<kBf8>::run(wave, inst);
}

constexpr Semantics entry(std::string_view name, Handler handler) {
  return {name, handler, handler, 0};
}

constexpr Semantics kAll[] = {
    entry("v_cvt_f32_fp8", fp8<Widen>),
    entry("v_cvt_f32_bf8", bf8<Widen>),
    entry("v_cvt_pk_f32_fp8", fp8<WidenPair>),
    entry("v_cvt_pk_f32_bf8", bf8<WidenPair>),
    entry("v_cvt_pk_fp8_f32", fp8<NarrowPair>),
    entry("v_cvt_pk_bf8_f32", bf8<NarrowPair>),
    entry("v_cvt_sr_fp8_f32", fp8<NarrowStochastic>),
    entry("v_cvt_sr_bf8_f32", bf8<NarrowStochastic>),
};

}  // namespace

std::span<const Semantics> conversion_8() noexcept {
  return kAll;
}

}  // namespace ckgen::emu
