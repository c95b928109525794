// How LDS instructions reach LDS: addresses, bounds, and in checked runs all that LdsChecks knows.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>

#include "lanes.hpp"
#include "launch.hpp"
#include "lds_banks.hpp"
#include "lds_checks.hpp"

namespace ckgen::emu {

/// Calls `one(lane)` for the lanes of a mask.
template <class One>
void each_lane(LaneMask lanes, One&& one) {
  if (lanes == ~LaneMask{0}) {
    for (unsigned lane = 0; lane < kLanes; ++lane) one(lane);
  } else {
    for (; lanes != 0; lanes &= lanes - 1) one(static_cast<unsigned>(std::countr_zero(lanes)));
  }
}

inline bool covers(const LdsAccess& access, std::uint32_t byte) noexcept {
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((access.lanes >> lane & 1) != 0 && byte - access.at[lane] < access.bytes) return true;
  }
  return false;
}

/// A row of the vector register file. LDS instructions do not take s_set_gpr_idx_on's index (CDNA3 ISA, 4.6).
inline std::uint32_t* lds_row(const Wave& wave, const Operand& operand, unsigned part) noexcept {
  return wave.v[std::min(operand.row() + part, kVectorRegisters - 1)];
}

/// Lanes of `lanes` whose bytes are all inside of the workgroup's LDS; a finding for the first of the others. What is
/// outside reads 0 and is not written (CDNA3 ISA, 11.1). Lane `first + i` has address `at[i]`.
LaneMask lds_outside(Wave& wave, const Inst& inst, const std::uint32_t* at, LaneMask lanes, unsigned bytes,
                     unsigned first) noexcept;

inline LaneMask lds_inside(Wave& wave, const Inst& inst, const std::uint32_t* at, LaneMask lanes, unsigned bytes,
                           unsigned first = 0) noexcept {
  const std::size_t size = wave.group->lds.bytes.size();
  if (lanes == ~LaneMask{0} && size >= bytes) {
    std::uint32_t highest = 0;
    for (unsigned lane = 0; lane < kLanes; ++lane) highest = std::max(highest, at[lane]);
    if (highest <= size - bytes) return lanes;
  }
  return lds_outside(wave, inst, at, lanes, bytes, first);
}

/// Reports lanes whose address is not a multiple of `alignment`, a power of two.
void lds_aligned(Wave& wave, const Inst& inst, const std::uint32_t* at, LaneMask lanes, unsigned alignment) noexcept;

/// The next lgkm number in a checked run, noted for the destination; 0 in a plain one.
template <bool Checked>
std::uint32_t lds_issue(Wave& wave, const Inst& inst) noexcept {
  if constexpr (!Checked) return 0;
  const std::uint32_t number = wave.waits.issue_lgkm();
  for (unsigned part = 0; part < inst.dst.dwords; ++part) {
    const unsigned row = inst.dst.row() + part;
    if (row < kVectorRegisters) wave.shadow.lgkm[row] = number;
  }
  return number;
}

/// Where one access of an instruction goes: 64 addresses, and the lanes that are inside of LDS.
template <bool Checked>
class LdsPlace {
 public:
  /// Addresses are ADDR + `offset` modulo 2^32.
  LdsPlace(Wave& wave, const Inst& inst, std::uint32_t offset, Touch touch, unsigned bytes, std::uint32_t number) {
    const std::uint32_t* base = lds_row(wave, inst.src[0], 0);
    std::uint32_t* to = begin(wave, inst, touch, bytes, number);
    for (unsigned lane = 0; lane < kLanes; ++lane) to[lane] = base[lane] + offset;
    finish(wave, inst, touch, bytes);
  }
  /// Lane l at `base` + 4 l: the forms that add the thread's number.
  LdsPlace(Wave& wave, const Inst& inst, Touch touch, std::uint32_t base, std::uint32_t number) {
    std::uint32_t* to = begin(wave, inst, touch, 4, number);
    for (unsigned lane = 0; lane < kLanes; ++lane) to[lane] = base + 4 * lane;
    finish(wave, inst, touch, 4);
  }
  LdsPlace(const LdsPlace&) = delete;
  LdsPlace& operator=(const LdsPlace&) = delete;

  const std::uint32_t* at() const noexcept { return at_; }
  LaneMask lanes() const noexcept { return lanes_; }

 private:
  std::uint32_t* begin(const Wave& wave, const Inst& inst, Touch touch, unsigned bytes, std::uint32_t number) {
    std::uint32_t* to = own_;
    if constexpr (Checked) {
      slot_ = &lds_checks(wave).open(wave, inst, touch, bytes, number);
      to = slot_->at;
    }
    at_ = to;
    return to;
  }
  void finish(Wave& wave, const Inst& inst, Touch touch, unsigned bytes) {
    lanes_ = lds_inside(wave, inst, at_, wave.exec(), bytes);
    Stats& stats = wave.group->stats;
    const std::uint64_t moved = std::uint64_t{bytes} * static_cast<unsigned>(std::popcount(lanes_));
    if (touch != Touch::write) stats.lds_read += moved;
    if (touch != Touch::read) stats.lds_written += moved;
    if constexpr (Checked) {
      slot_->lanes = lanes_;
      wave.group->lds.checks->check(wave, *slot_);
      count_cycles(wave, at_, lanes_, bytes, touch == Touch::read);
    }
  }

  LdsAccess* slot_ = nullptr;
  const std::uint32_t* at_ = nullptr;
  LaneMask lanes_ = 0;
  alignas(64) std::uint32_t own_[Checked ? 1 : kLanes];
};

}  // namespace ckgen::emu
