// The MODE register, and the x86 rounding and denormal state that a wave's f32 arithmetic runs under.
#pragma once

#include <xmmintrin.h>

#include "wave.hpp"

namespace ckgen::emu {

/// The MODE register's bits: 1:0 round f32, 3:2 round f16 and f64, 5:4 denormals f32, 7:6 denormals f16 and f64,
/// 8 DX10_CLAMP, 9 IEEE, 23 FP16_OVFL.
std::uint32_t mode_bits(const Mode& mode);
Mode mode_of(std::uint32_t bits);

/// MXCSR for MODE's f32 fields: all exceptions masked, RC, FTZ and DAZ set.
inline unsigned mxcsr_of(const Mode& mode) noexcept {
  constexpr unsigned kMasked = 0x1f80, kFlushToZero = 0x8000, kDenormalsAreZero = 0x40;
  constexpr unsigned kRounding[] = {0, 2u << 13, 1u << 13, 3u << 13};  // MODE: even, up, down, zero
  return kMasked | kRounding[mode.round_f32 & 3] | ((mode.denormals_f32 & 2) != 0 ? 0 : kFlushToZero) |
         ((mode.denormals_f32 & 1) != 0 ? 0 : kDenormalsAreZero);
}

inline void enter_float_mode(const Wave& wave) noexcept {
  _mm_setcsr(mxcsr_of(wave.mode));
}

/// The host's own state, put back at the end of a scope.
class HostFloatMode {
 public:
  HostFloatMode() noexcept : saved_(_mm_getcsr()) {}
  ~HostFloatMode() { _mm_setcsr(saved_); }
  HostFloatMode(const HostFloatMode&) = delete;
  HostFloatMode& operator=(const HostFloatMode&) = delete;

 private:
  unsigned saved_;
};

}  // namespace ckgen::emu
