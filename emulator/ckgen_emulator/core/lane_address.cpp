#include "lane_address.hpp"

#include <algorithm>
#include <array>

#include "lanes.hpp"

namespace ckgen::emu {
namespace {

constexpr std::uint32_t kElement = 4;  // bytes that stay together in a swizzled buffer

/// Gives lanes that take no part the address of one that does.
void spread(LaneAccess& access) noexcept {
  const LaneMask some = access.lanes | access.partial;
  if (some == ~LaneMask{0} || some == 0) return;
  const std::uint64_t any = access.address[std::countr_zero(some)];
#ifdef __AVX512F__
  for (unsigned first = 0; first < kLanes; first += 8) {
    const __mmask8 others = static_cast<__mmask8>(~some >> first);
    _mm512_mask_store_epi64(access.address + first, others, _mm512_set1_epi64(static_cast<long long>(any)));
  }
#else
  for_each_lane(~some, [&](unsigned lane) { access.address[lane] = any; });
#endif
}

std::uint64_t swizzled(std::uint64_t index, std::uint64_t offset, const Resource& resource) noexcept {
  const std::uint64_t rows = index / resource.index_stride, in_row = index % resource.index_stride;
  const std::uint64_t element = offset / kElement, in_element = offset % kElement;
  return (rows * resource.stride + element * kElement) * resource.index_stride + in_row * kElement + in_element;
}

}  // namespace

Resource resource_of(const Wave& wave, const Inst& inst) noexcept {
  std::uint32_t word[4];
  for (unsigned i = 0; i < 4; ++i) word[i] = scalar_value(wave, inst, inst.base, i);
  Resource resource;
  resource.base = word[0] | static_cast<std::uint64_t>(word[1] & 0xffff) << 32;
  resource.stride = word[1] >> 16 & 0x3fff;
  resource.swizzled = word[1] >> 31 != 0;
  resource.records = word[2];
  resource.index_stride = 8u << (word[3] >> 21 & 3);
  resource.add_thread = (word[3] >> 23 & 1) != 0;
  if (resource.add_thread) resource.stride |= (word[3] >> 15 & 15) << 14;
  return resource;
}

void buffer_addresses(const Wave& wave, const Inst& inst, const Resource& resource, unsigned size, bool per_dword,
                      unsigned part, LaneAccess& access) noexcept {
  const LaneMask exec = wave.exec();
  const std::uint32_t soffset = scalar_value(wave, inst, inst.soffset);
  const std::uint64_t start = resource.base + soffset;
  const std::uint32_t* indices = inst.idxen ? memory_row(wave, inst.src[0]) : nullptr;
  const std::uint32_t* offsets = inst.offen ? memory_row(wave, inst.src[0], inst.idxen ? 1 : 0) : nullptr;
  const std::uint32_t immediate = static_cast<std::uint32_t>(inst.offset);
  const std::uint64_t room = std::max(resource.records, soffset) - soffset;
  access.lanes = access.partial = 0;

  if (indices == nullptr && !resource.add_thread) {  // a range of bytes
    alignas(64) std::array<std::uint32_t, kLanes> offset;
    for (unsigned lane = 0; lane < kLanes; ++lane) offset[lane] = (offsets != nullptr ? offsets[lane] : 0) + immediate;
    for (unsigned lane = 0; lane < kLanes; ++lane) access.address[lane] = start + offset[lane] + 4 * part;
    const std::uint64_t end = size + 4 * part;
    LaneMask inside = 0;
    if (room >= end) {
      const std::uint32_t highest = static_cast<std::uint32_t>(room - end);
      std::uint32_t farthest = 0;
      for (unsigned lane = 0; lane < kLanes; ++lane) farthest = std::max(farthest, offset[lane]);
      if (farthest <= highest) {
        inside = ~LaneMask{0};
      } else {
        for (unsigned lane = 0; lane < kLanes; ++lane) inside |= LaneMask{offset[lane] <= highest} << lane;
      }
    }
    access.lanes = inside & exec;
    if (per_dword && access.lanes != exec) {
      for_each_lane(exec & ~access.lanes, [&](unsigned lane) {
        const std::uint64_t left = room > std::uint64_t{offset[lane]} + 4 * part ? room - offset[lane] - 4 * part : 0;
        access.dwords[lane] = static_cast<std::uint8_t>(std::min<std::uint64_t>(left, size) / 4);
        if (access.dwords[lane] != 0) access.partial |= LaneMask{1} << lane;
      });
    }
  } else {
    const bool structured = indices != nullptr && resource.stride != 0;
    for_each_lane(exec, [&](unsigned lane) {
      const std::uint32_t named = indices != nullptr ? indices[lane] : 0;
      const std::uint64_t index = std::uint64_t{named} + (resource.add_thread ? lane : 0);
      const std::uint32_t offset = (offsets != nullptr ? offsets[lane] : 0) + immediate;
      const std::uint64_t at = std::uint64_t{offset} + 4 * part;
      const std::uint64_t in_buffer =
          resource.swizzled && resource.stride != 0 ? swizzled(index, at, resource) : index * resource.stride + at;
      access.address[lane] = start + in_buffer;
      if (structured ? named < resource.records : at + size <= room) {
        access.lanes |= LaneMask{1} << lane;
      } else if (!structured && per_dword && at + 4 <= room) {
        access.dwords[lane] = static_cast<std::uint8_t>((room - at) / 4);
        access.partial |= LaneMask{1} << lane;
      }
    });
  }
  spread(access);
}

void global_addresses(const Wave& wave, const Inst& inst, LaneAccess& access) noexcept {
  access.lanes = wave.exec();
  access.partial = 0;
  const std::uint32_t* low = memory_row(wave, inst.src[0]);
  const std::uint64_t offset = static_cast<std::uint64_t>(static_cast<std::int64_t>(inst.offset));
  if (inst.base.present()) {
    const std::uint64_t base = scalar_value64(wave, inst, inst.base) + offset;
    for (unsigned lane = 0; lane < kLanes; ++lane) access.address[lane] = base + low[lane];
  } else {
    const std::uint32_t* high = memory_row(wave, inst.src[0], 1);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      access.address[lane] = (low[lane] | static_cast<std::uint64_t>(high[lane]) << 32) + offset;
    }
  }
  spread(access);
}

void scratch_offsets(const Wave& wave, const Inst& inst, std::uint32_t* offset) noexcept {
  const std::uint32_t common =
      static_cast<std::uint32_t>(inst.offset) + (inst.base.present() ? scalar_value(wave, inst, inst.base) : 0);
  const std::uint32_t* each = inst.src[0].present() ? memory_row(wave, inst.src[0]) : nullptr;
  for (unsigned lane = 0; lane < kLanes; ++lane) offset[lane] = common + (each != nullptr ? each[lane] : 0);
}

}  // namespace ckgen::emu
