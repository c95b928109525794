#include "float_mode.hpp"

namespace ckgen::emu {

std::uint32_t mode_bits(const Mode& mode) {
  return static_cast<std::uint32_t>(mode.round_f32 | mode.round_f16_f64 << 2 | mode.denormals_f32 << 4 |
                                    mode.denormals_f16_f64 << 6 | mode.dx10_clamp << 8 | mode.ieee << 9 |
                                    mode.fp16_overflow << 23) |
         static_cast<std::uint32_t>(mode.skip_vectors) << 28;
}

Mode mode_of(std::uint32_t bits) {
  const auto two = [&](unsigned at) { return static_cast<std::uint8_t>(bits >> at & 3); };
  return {two(0),
          two(2),
          two(4),
          two(6),
          (bits >> 8 & 1) != 0,
          (bits >> 9 & 1) != 0,
          (bits >> 23 & 1) != 0,
          (bits >> 28 & 1) != 0};
}

}  // namespace ckgen::emu
