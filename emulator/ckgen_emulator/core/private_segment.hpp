// Private segments: where scratch lies, and how the instructions of a wave reach it.
#pragma once

#include <array>
#include <cstdint>

#include "lane_access.hpp"
#include "lane_address.hpp"

namespace ckgen::emu {

/// Without architected flat scratch, code addresses scratch itself: it gets a resource of a pool and its wave's offset
/// in there. The pool lies where the host has no memory, right before a multiple of 2^32: adding offsets carries.
constexpr std::uint64_t kScratchPool = 0xf000'ffff'0000;
constexpr std::uint32_t kScratchPoolBytes = 0xffff'f000;

inline bool in_scratch_pool(std::uint64_t address) noexcept {
  return address - kScratchPool < kScratchPoolBytes;
}

/// Whether the hardware sets FLAT_SCRATCH by itself (the target properties in LLVM's AMDGPU usage guide).
inline bool architected_flat_scratch(const Chip& chip) noexcept {
  return chip.processor.isa != Isa::cdna2;
}

/// Bytes of the pool from one wave's scratch to the next: whole KiB, as COMPUTE_TMPRING_SIZE counts them.
std::uint64_t wave_scratch_bytes(const Kernel& kernel) noexcept;

/// The private segment buffer: swizzled by lanes in dwords. Words as ROCR's AqlQueue fills them in for gfx9.
std::array<std::uint32_t, 4> scratch_resource() noexcept;

/// SCRATCH, and FLAT in the private aperture: `offset` per lane into its private segment; fills `access.address` for
/// `lanes` that may go there. Checked: reads of bytes that nothing has written.
template <bool Checked>
void admit_scratch(Wave& wave, const Inst& inst, LaneAccess& access, const std::uint32_t* offset, LaneMask lanes,
                   unsigned size, Access touch);

/// The same for MUBUF with a resource in the pool. False, with a finding, for more than a dword per lane, which the
/// buffer does not take (LLVM's AMDGPU usage guide, "Address Spaces").
template <bool Checked>
bool admit_scratch_buffer(Wave& wave, const Inst& inst, const Resource& resource, LaneAccess& access, unsigned size,
                          Access touch);

/// The finding for atomics, and for loads to LDS, with such a resource.
void refuse_scratch_buffer(Wave& wave, const Inst& inst);

}  // namespace ckgen::emu
