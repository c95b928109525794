// gfx950's v_cvt_scalef32_*: a narrow value times 2^(exponent(scale) - 127) is the wide one. An f32 scale gives its
// exponent field only; 255 there makes everything NaN. Saturation and NaNs follow AMD's host implementation
// (amd_hip_ocp_host.hpp), with MODE.fp16_ovfl as its `sat`; the fp6, bf6 and fp4 kinds always saturate.
#include "conversion.hpp"

namespace ckgen::emu {
namespace {

struct F32 {
  static constexpr FloatFormat kFormat = kF32;
  static constexpr unsigned kPerDword = 1;
};
struct F16 {
  static constexpr FloatFormat kFormat = kF16;
  static constexpr unsigned kPerDword = 2;
};
struct Bf16 {
  static constexpr FloatFormat kFormat = kBf16;
  static constexpr unsigned kPerDword = 2;
};

/// The scale operand's exponent in every lane.
class Scale {
 public:
  Scale(const Wave& wave, const Inst& inst, unsigned index) noexcept {
    const Lanes source(wave, inst, index);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const std::uint32_t field = source[lane] >> 23 & 0xff;
      exponent_[lane] = static_cast<std::int32_t>(field) - 127;
      nan_[lane] = field == 255 ? kF32QuietNan : 0;
    }
  }
  int operator[](unsigned lane) const noexcept { return exponent_[lane]; }
  /// An f32's bits, or a NaN of their sign where the scale is one.
  std::uint32_t poison(unsigned lane, std::uint32_t bits) const noexcept { return bits | nan_[lane]; }

 private:
  alignas(64) std::int32_t exponent_[kLanes];
  alignas(64) LaneArray nan_;
};

/// MODE's fields that these conversions heed.
struct Heed {
  bool saturate, flush_f32, flush_f16, flush_f32_results, flush_f16_results;

  explicit Heed(const Wave& wave) noexcept
      : saturate(wave.mode.fp16_overflow),
        flush_f32((wave.mode.denormals_f32 & 1) == 0),
        flush_f16(flushes_f16_sources(wave)),
        flush_f32_results(flushes_f32_results(wave)),
        flush_f16_results(flushes_f16_results(wave)) {}

  /// An element of a wide source as f32.
  template <typename Wide>
  [[gnu::always_inline]] std::uint32_t read(std::uint32_t dword, unsigned half) const noexcept {
    if constexpr (Wide::kPerDword == 1) return flushed_f32(dword, flush_f32);
    const std::uint32_t element = dword >> (16 * half) & 0xffff;
    if constexpr (Wide::kFormat.bias == kF16.bias) return f16_to_f32_bits(flushed_f16(element, flush_f16));
    return element << 16;
  }

  /// A narrow value, scaled, as an element of a wide result.
  template <typename Wide>
  [[gnu::always_inline]] std::uint32_t widen(std::uint32_t bits, int scale) const noexcept {
    constexpr bool kHalf = Wide::kFormat.bias == kF16.bias;
    const std::uint32_t code = encode(Wide::kFormat, bits, Rounding::nearest_even, kHalf && saturate, -scale);
    if constexpr (kHalf) return flushed_f16(code, flush_f16_results);
    if constexpr (Wide::kPerDword == 1) return flushed_f32(code, flush_f32_results);
    return code;
  }

  template <FloatFormat F>
  [[gnu::always_inline]] std::uint32_t narrow(std::uint32_t bits, int scale) const noexcept {
    return encode(F, bits, Rounding::nearest_even, saturate, scale);
  }
  template <FloatFormat F, typename Wide>
  [[gnu::always_inline]] std::uint32_t narrow(std::uint32_t bits, int scale, std::uint32_t random) const noexcept {
    return encode_stochastic(F, bits, random, saturate, scale, Wide::kFormat.mantissa_bits);
  }
};

/// Two elements of `F` next to one another go to the half (8-bit formats) or byte (fp4) that op_sel names.
template <FloatFormat F>
void write_pair(Wave& wave, const Inst& inst, LaneArray& pair) {
  if constexpr (F.width() == 4) {
    write_part(wave, inst, pair, destination_byte(inst), 8);
  } else {
    write_part(wave, inst, pair, destination_half(inst), 16);
  }
}

/// Sources: two f32, or one packed pair; then the scale.
template <FloatFormat F, typename Wide>
void narrow_pair(Wave& wave, const Inst& inst) {
  constexpr unsigned kSecond = Wide::kPerDword == 1 ? 1 : 0;
  const FloatSource own_first(wave, inst, 0, false), own_second(wave, inst, kSecond, false);
  const Lanes packed(wave, inst, 0);
  const Scale scale(wave, inst, kSecond + 1);
  const Heed heed(wave);
  alignas(64) LaneArray out;
  const auto element = [&](unsigned lane, const FloatSource& own, unsigned half) {
    if constexpr (Wide::kPerDword == 1) return own[lane];
    return heed.read<Wide>(packed[lane], half);
  };
  for (unsigned lane = 0; lane < kLanes; ++lane)
    out[lane] = heed.narrow<F>(scale.poison(lane, element(lane, own_first, 0)), scale[lane]);
  for (unsigned lane = 0; lane < kLanes; ++lane)
    out[lane] |= heed.narrow<F>(scale.poison(lane, element(lane, own_second, 1)), scale[lane]) << F.width();
  write_pair<F>(wave, inst, out);
}

/// Source, random, scale; to the byte that op_sel[3:2] names.
template <FloatFormat F, typename Wide>
void narrow_stochastic(Wave& wave, const Inst& inst) {
  const FloatSource source(wave, inst, 0, Wide::kPerDword == 2);
  const Lanes random(wave, inst, 1);
  const Scale scale(wave, inst, 2);
  const Heed heed(wave);
  alignas(64) LaneArray out;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const std::uint32_t bits = scale.poison(lane, heed.read<Wide>(source[lane], 0));
    out[lane] = heed.narrow<F, Wide>(bits, scale[lane], random[lane]);
  }
  write_part(wave, inst, out, destination_byte(inst), 8);
}

/// The same for a pair of fp4; the second element draws the generator's next number.
template <typename Wide>
void narrow_pair_stochastic(Wave& wave, const Inst& inst) {
  const Lanes first(wave, inst, 0, 0), second(wave, inst, 0, Wide::kPerDword == 1 ? 1 : 0);
  const Lanes random(wave, inst, 1);
  const Scale scale(wave, inst, 2);
  const Heed heed(wave);
  alignas(64) LaneArray out;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const std::uint32_t low = scale.poison(lane, heed.read<Wide>(first[lane], 0));
    out[lane] = heed.narrow<kFp4, Wide>(low, scale[lane], random[lane]);
  }
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const std::uint32_t high = scale.poison(lane, heed.read<Wide>(second[lane], 1));
    out[lane] |= heed.narrow<kFp4, Wide>(high, scale[lane], next_random(random[lane])) << 4;
  }
  write_pair<kFp4>(wave, inst, out);
}

/// Source and scale; op_sel names the source's half (8-bit formats) or byte (fp4).
template <FloatFormat F, typename Wide>
void widen_pair(Wave& wave, const Inst& inst) {
  const Lanes source(wave, inst, 0);
  const Scale scale(wave, inst, 1);
  const Heed heed(wave);
  const unsigned shift = F.width() == 4 ? 8 * (inst.op_sel & 3u) : 16 * (inst.op_sel & 1u);
  constexpr std::uint32_t kMask = F.codes() - 1;
  alignas(64) LaneArray low, high;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const std::uint32_t bits = kDecodedBits<F>[source[lane] >> shift & kMask];
    low[lane] = heed.widen<Wide>(scale.poison(lane, bits), scale[lane]);
  }
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const std::uint32_t bits = kDecodedBits<F>[source[lane] >> (shift + F.width()) & kMask];
    high[lane] = heed.widen<Wide>(scale.poison(lane, bits), scale[lane]);
  }
  if constexpr (Wide::kPerDword == 2) {
    for (unsigned lane = 0; lane < kLanes; ++lane) low[lane] |= high[lane] << 16;
    write_lanes(wave, inst, low);
  } else {
    modify_f32(wave, inst, low);
    modify_f32(wave, inst, high);
    write_lanes(wave, inst, low, 0);
    write_lanes(wave, inst, high, 1);
  }
}

/// One byte of the source, which op_sel[1:0] names; an f16 result goes to the half that op_sel[3] names.
template <FloatFormat F, typename Wide>
void widen_one(Wave& wave, const Inst& inst) {
  const Lanes source(wave, inst, 0);
  const Scale scale(wave, inst, 1);
  const Heed heed(wave);
  const unsigned shift = 8 * (inst.op_sel & 3u);
  alignas(64) LaneArray out;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const std::uint32_t bits = kDecodedBits<F>[source[lane] >> shift & 0xff];
    out[lane] = heed.widen<Wide>(scale.poison(lane, bits), scale[lane]);
  }
  if constexpr (Wide::kPerDword == 2) {
    write_part(wave, inst, out, destination_half(inst), 16);
  } else {
    modify_f32(wave, inst, out);
    write_lanes(wave, inst, out);
  }
}

constexpr unsigned kMany = 32;       // elements of a pk32
constexpr unsigned kManyDwords = 6;  // of 6-bit elements

/// 6-bit elements in their six registers, before they are written: sources may overlap the destination.
struct SixBits {
  alignas(64) LaneArray dword[kManyDwords] = {};

  void put(unsigned lane, unsigned index, std::uint32_t code) noexcept {
    const unsigned at = 6 * index / 32, shift = 6 * index % 32;
    dword[at][lane] |= code << shift;
    if (shift > 26) dword[at + 1][lane] |= code >> (32 - shift);
  }
  void write(Wave& wave, const Inst& inst) noexcept {
    for (unsigned part = 0; part < kManyDwords; ++part) write_lanes(wave, inst, dword[part], part);
  }
};

/// 32 wide elements, the seed of a stochastic rounding, the scale.
template <FloatFormat F, typename Wide, bool Stochastic>
void narrow_many(Wave& wave, const Inst& inst) {
  const Scale scale(wave, inst, Stochastic ? 2 : 1);
  const Heed heed(wave);
  alignas(64) LaneArray random = {};
  if constexpr (Stochastic) {
    const Lanes seed(wave, inst, 1);
    for (unsigned lane = 0; lane < kLanes; ++lane) random[lane] = seed[lane];
  }
  SixBits out;
  for (unsigned index = 0; index < kMany; ++index) {
    const Lanes source(wave, inst, 0, index / Wide::kPerDword);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const std::uint32_t bits = scale.poison(lane, heed.read<Wide>(source[lane], index % Wide::kPerDword));
      if constexpr (Stochastic) {
        out.put(lane, index, heed.narrow<F, Wide>(bits, scale[lane], random[lane]));
        random[lane] = next_random(random[lane]);
      } else {
        out.put(lane, index, heed.narrow<F>(bits, scale[lane]));
      }
    }
  }
  out.write(wave, inst);
}

/// Two sources of 16 f32 each; their elements alternate in the result.
template <FloatFormat F>
void narrow_two(Wave& wave, const Inst& inst) {
  const Scale scale(wave, inst, 2);
  const Heed heed(wave);
  SixBits out;
  for (unsigned index = 0; index < kMany; ++index) {
    const Lanes source(wave, inst, index % 2, index / 2);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const std::uint32_t bits = scale.poison(lane, heed.read<F32>(source[lane], 0));
      out.put(lane, index, heed.narrow<F>(bits, scale[lane]));
    }
  }
  out.write(wave, inst);
}

/// 32 elements of six bits, times the scale.
template <FloatFormat F, typename Wide>
void widen_many(Wave& wave, const Inst& inst) {
  const Scale scale(wave, inst, 1);
  const Heed heed(wave);
  alignas(64) LaneArray out[kMany / Wide::kPerDword] = {};
  for (unsigned index = 0; index < kMany; ++index) {
    const unsigned at = 6 * index / 32, shift = 6 * index % 32;
    const Lanes low(wave, inst, 0, at);
    const Lanes high(wave, inst, 0, shift > 26 ? at + 1 : at);
    LaneArray& to = out[index / Wide::kPerDword];
    const unsigned place = 16 * (index % Wide::kPerDword);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const std::uint64_t both = low[lane] | static_cast<std::uint64_t>(high[lane]) << 32;
      const std::uint32_t bits = kDecodedBits<F>[both >> shift & 63];
      to[lane] |= heed.widen<Wide>(scale.poison(lane, bits), scale[lane]) << place;
    }
  }
  for (unsigned part = 0; part < kMany / Wide::kPerDword; ++part) write_lanes(wave, inst, out[part], part);
}

constexpr Semantics entry(std::string_view name, Handler handler) {
  return {name, handler, handler, 0};
}

constexpr Semantics kAll[] = {
    entry("v_cvt_scalef32_pk_fp8_f32", narrow_pair<kFp8, F32>),
    entry("v_cvt_scalef32_pk_fp8_f16", narrow_pair<kFp8, F16>),
    entry("v_cvt_scalef32_pk_fp8_bf16", narrow_pair<kFp8, Bf16>),
    entry("v_cvt_scalef32_pk_bf8_f32", narrow_pair<kBf8, F32>),
    entry("v_cvt_scalef32_pk_bf8_f16", narrow_pair<kBf8, F16>),
    entry("v_cvt_scalef32_pk_bf8_bf16", narrow_pair<kBf8, Bf16>),
    entry("v_cvt_scalef32_pk_fp4_f32", narrow_pair<kFp4, F32>),
    entry("v_cvt_scalef32_pk_fp4_f16", narrow_pair<kFp4, F16>),
    entry("v_cvt_scalef32_pk_fp4_bf16", narrow_pair<kFp4, Bf16>),
    entry("v_cvt_scalef32_sr_fp8_f32", narrow_stochastic<kFp8, F32>),
    entry("v_cvt_scalef32_sr_fp8_f16", narrow_stochastic<kFp8, F16>),
    entry("v_cvt_scalef32_sr_fp8_bf16", narrow_stochastic<kFp8, Bf16>),
    entry("v_cvt_scalef32_sr_bf8_f32", narrow_stochastic<kBf8, F32>),
    entry("v_cvt_scalef32_sr_bf8_f16", narrow_stochastic<kBf8, F16>),
    entry("v_cvt_scalef32_sr_bf8_bf16", narrow_stochastic<kBf8, Bf16>),
    entry("v_cvt_scalef32_sr_pk_fp4_f32", narrow_pair_stochastic<F32>),
    entry("v_cvt_scalef32_sr_pk_fp4_f16", narrow_pair_stochastic<F16>),
    entry("v_cvt_scalef32_sr_pk_fp4_bf16", narrow_pair_stochastic<Bf16>),
    entry("v_cvt_scalef32_pk_f32_fp8", widen_pair<kFp8, F32>),
    entry("v_cvt_scalef32_pk_f16_fp8", widen_pair<kFp8, F16>),
    entry("v_cvt_scalef32_pk_bf16_fp8", widen_pair<kFp8, Bf16>),
    entry("v_cvt_scalef32_pk_f32_bf8", widen_pair<kBf8, F32>),
    entry("v_cvt_scalef32_pk_f16_bf8", widen_pair<kBf8, F16>),
    entry("v_cvt_scalef32_pk_bf16_bf8", widen_pair<kBf8, Bf16>),
    entry("v_cvt_scalef32_pk_f32_fp4", widen_pair<kFp4, F32>),
    entry("v_cvt_scalef32_pk_f16_fp4", widen_pair<kFp4, F16>),
    entry("v_cvt_scalef32_pk_bf16_fp4", widen_pair<kFp4, Bf16>),
    entry("v_cvt_scalef32_f32_fp8", widen_one<kFp8, F32>),
    entry("v_cvt_scalef32_f16_fp8", widen_one<kFp8, F16>),
    entry("v_cvt_scalef32_f32_bf8", widen_one<kBf8, F32>),
    entry("v_cvt_scalef32_f16_bf8", widen_one<kBf8, F16>),
    entry("v_cvt_scalef32_2xpk16_fp6_f32", narrow_two<kFp6>),
    entry("v_cvt_scalef32_2xpk16_bf6_f32", narrow_two<kBf6>),
    entry("v_cvt_scalef32_pk32_fp6_f16", narrow_many<kFp6, F16, false>),
    entry("v_cvt_scalef32_pk32_fp6_bf16", narrow_many<kFp6, Bf16, false>),
    entry("v_cvt_scalef32_pk32_bf6_f16", narrow_many<kBf6, F16, false>),
    entry("v_cvt_scalef32_pk32_bf6_bf16", narrow_many<kBf6, Bf16, false>),
    entry("v_cvt_scalef32_sr_pk32_fp6_f32", narrow_many<kFp6, F32, true>),
    entry("v_cvt_scalef32_sr_pk32_fp6_f16", narrow_many<kFp6, F16, true>),
    entry("v_cvt_scalef32_sr_pk32_fp6_bf16", narrow_many<kFp6, Bf16, true>),
    entry("v_cvt_scalef32_sr_pk32_bf6_f32", narrow_many<kBf6, F32, true>),
    entry("v_cvt_scalef32_sr_pk32_bf6_f16", narrow_many<kBf6, F16, true>),
    entry("v_cvt_scalef32_sr_pk32_bf6_bf16", narrow_many<kBf6, Bf16, true>),
    entry("v_cvt_scalef32_pk32_f32_fp6", widen_many<kFp6, F32>),
    entry("v_cvt_scalef32_pk32_f16_fp6", widen_many<kFp6, F16>),
    entry("v_cvt_scalef32_pk32_bf16_fp6", widen_many<kFp6, Bf16>),
    entry("v_cvt_scalef32_pk32_f32_bf6", widen_many<kBf6, F32>),
    entry("v_cvt_scalef32_pk32_f16_bf6", widen_many<kBf6, F16>),
    entry("v_cvt_scalef32_pk32_bf16_bf6", widen_many<kBf6, Bf16>),
};

}  // namespace

std::span<const Semantics> conversion_scaled() noexcept {
  return kAll;
}

}  // namespace ckgen::emu
