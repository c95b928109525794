// The state of one wave while it runs.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>

#include "hazard.hpp"
#include "inst.hpp"
#include "register_shadow.hpp"
#include "waits.hpp"

namespace ckgen::emu {

struct Launch;
struct Workgroup;

using LaneMask = std::uint64_t;
using LaneValues = std::uint32_t[kLanes];

/// The MODE register's fields that change results (CDNA3 ISA, 3.6 "Mode register").
struct Mode {
  std::uint8_t round_f32 = 0;  // 0 nearest even, 1 +inf, 2 -inf, 3 zero
  std::uint8_t round_f16_f64 = 0;
  std::uint8_t denormals_f32 = 3;  // bit 0 inputs, bit 1 results are kept
  std::uint8_t denormals_f16_f64 = 3;
  bool dx10_clamp = true;      // a clamped NaN becomes 0
  bool ieee = true;            // signalling NaNs become quiet in min, max and clamp
  bool fp16_overflow = false;  // conversions saturate
  bool skip_vectors = false;   // VSKIP: vector, LDS and vector memory instructions do nothing
};

enum class WaveStatus : std::uint8_t { ready, at_barrier, communicating, ended };

struct Wave {
  // s0…s101, VCC at 106, M0 at 124, EXEC at 126
  alignas(64) std::array<std::uint32_t, kConstants> s{};
  LaneValues* v = nullptr;  // kVectorRegisters rows
  std::size_t next = 0;     // index of the instruction to run; already the following one while one runs
  std::uint64_t executed = 0;
  bool scc = false;
  WaveStatus status = WaveStatus::ready;
  Mode mode;
  std::uint32_t index = 0;  // in its workgroup
  Workgroup* group = nullptr;
  Launch* launch = nullptr;
  std::uint8_t gpr_index_mode = 0;  // s_set_gpr_idx_on: bit 0 src0, 1 src1, 2 src2, 3 dst; 0 off
  std::uint8_t* scratch = nullptr;  // the private segments of its lanes, one after the other
  std::uint64_t scratch_base = 0;   // their address as code sees it; 0 where flat scratch is architected

  // Of checked runs.
  std::unique_ptr<std::uint8_t[]> scratch_written;  // one per byte of `scratch`, made when it is first touched
  RegisterShadow shadow;
  Waits waits;
  HazardState hazards;

  std::uint64_t pair(unsigned first) const noexcept {
    std::uint64_t value;
    std::memcpy(&value, &s[first], sizeof value);
    return value;
  }
  void set_pair(unsigned first, std::uint64_t value) noexcept { std::memcpy(&s[first], &value, sizeof value); }
  LaneMask exec() const noexcept { return pair(kExecLo); }
  LaneMask vcc() const noexcept { return pair(kVccLo); }
};

}  // namespace ckgen::emu
