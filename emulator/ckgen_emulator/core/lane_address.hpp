// Addresses of vector memory instructions.
#pragma once

#include <cstdint>

#include "lane_access.hpp"

namespace ckgen::emu {

/// The fields of a buffer resource that loads and stores without a format use. Source: CDNA3 ISA, 9.1.5 "Buffer
/// resource"; index stride and thread numbers as Mesa's gfx9 descriptors have them.
struct Resource {
  std::uint64_t base = 0;
  std::uint32_t stride = 0;
  std::uint32_t records = 0;
  std::uint32_t index_stride = 8;
  bool swizzled = false;
  bool add_thread = false;
};

Resource resource_of(const Wave& wave, const Inst& inst) noexcept;

/// Addresses of a MUBUF access of `size` bytes per lane, from dword `part` of each on; lanes out of the buffer's range
/// are left out. Whether range checks work per dword (`per_dword`) or take an access as a whole (atomics, sub-dwords).
///
/// Offset = VADDR + immediate, modulo 2^32. With idxen and a stride, an index that is not below NUM_RECORDS is out of
/// range; else what reaches beyond NUM_RECORDS - SOFFSET bytes (not below 0) is. Swizzled: elements of 4 bytes.
/// Sources: CDNA3 ISA, 9.1.5 "Range checking" (buffer_offset >= NUM_RECORDS - sgpr_offset); Mesa, meaning of
/// NUM_RECORDS on gfx9; gfx950 hardware as github.com/ROCm/rocm-systems/pull/10928 reports it.
void buffer_addresses(const Wave& wave, const Inst& inst, const Resource& resource, unsigned size, bool per_dword,
                      unsigned part, LaneAccess& access) noexcept;

/// Addresses of GLOBAL: VGPR pair + offset, or SGPR pair + VGPR + offset; of FLAT: VGPR pair + offset.
void global_addresses(const Wave& wave, const Inst& inst, LaneAccess& access) noexcept;

/// Offsets into the lanes' private segments, of SCRATCH.
void scratch_offsets(const Wave& wave, const Inst& inst, std::uint32_t* offset) noexcept;

}  // namespace ckgen::emu
