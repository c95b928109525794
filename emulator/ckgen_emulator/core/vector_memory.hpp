// What the vector memory instructions have in common.
#pragma once

#include <span>

#include "lane_access.hpp"
#include "lane_address.hpp"
#include "private_segment.hpp"
#include "semantics.hpp"

namespace ckgen::emu {

enum class Space : std::uint8_t { buffer, global, flat, scratch };

/// The operation's number in vmcnt; FLAT counts in lgkmcnt too, as `lgkm` says.
struct Issued {
  std::uint32_t vm = 0;
  std::uint32_t lgkm = 0;
};

template <Space S>
inline Issued issue(Wave& wave) noexcept {
  Issued issued{wave.waits.issue_vm(), 0};
  if constexpr (S == Space::flat) issued.lgkm = wave.waits.last_flat = wave.waits.issue_lgkm();
  return issued;
}

/// The instruction's destination rows are on their way until then.
template <bool Checked>
inline void note_load(Wave& wave, const Inst& inst, const Issued& issued) noexcept {
  if constexpr (!Checked) return;
  for (unsigned part = 0; part < inst.dst.dwords; ++part) {
    const unsigned row = inst.dst.row() + part;
    if (row >= kVectorRegisters) return;
    wave.shadow.vm[row] = issued.vm;
    if (issued.lgkm != 0) wave.shadow.lgkm[row] = issued.lgkm;
  }
}

/// Lanes of a FLAT access that are not in global memory, and their offsets into LDS or their private segment.
struct Apertures {
  LaneMask shared = 0, privates = 0;
  std::uint32_t offset[kLanes];

  bool any() const noexcept { return (shared | privates) != 0; }
};
/// Takes those lanes out of `access`.
void split_apertures(LaneAccess& access, Apertures& apertures) noexcept;

std::span<const Semantics> vector_store_semantics() noexcept;
std::span<const Semantics> vector_atomic_semantics() noexcept;
std::span<const Semantics> lds_load_semantics() noexcept;
std::span<const Semantics> vector_load_semantics() noexcept;
std::span<const Semantics> cache_semantics() noexcept;

/// MUBUF loads with the lds bit: `bytes` of one lane in memory, of which less than four are extended.
template <bool Checked>
void buffer_load_lds(Wave& wave, const Inst& inst, unsigned bytes, bool extend);

/// The table of one kind of instruction in the four spaces.
#define CKGEN_IN_SPACE(F, prefix, suffix, space, kind, traits) \
  {prefix suffix, F<space, kind, false>, F<space, kind, true>, traits}
#define CKGEN_IN_SPACES(F, suffix, kind, traits)                        \
  CKGEN_IN_SPACE(F, "buffer", suffix, Space::buffer, kind, traits),     \
      CKGEN_IN_SPACE(F, "global", suffix, Space::global, kind, traits), \
      CKGEN_IN_SPACE(F, "flat", suffix, Space::flat, kind, traits)
#define CKGEN_IN_ALL_SPACES(F, suffix, kind, traits) \
  CKGEN_IN_SPACES(F, suffix, kind, traits), CKGEN_IN_SPACE(F, "scratch", suffix, Space::scratch, kind, traits)

}  // namespace ckgen::emu
