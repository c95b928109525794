#include "private_segment.hpp"

#include <cstdio>
#include <string>

namespace ckgen::emu {
namespace {

constexpr std::uint64_t kRow = 4 * kLanes;  // bytes of one dword in every lane

std::uint64_t rows_bytes(const Kernel& kernel) noexcept {
  return (std::uint64_t{kernel.scratch_bytes} + 3) / 4 * kRow;
}

std::string hexadecimal(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

/// One instruction's accesses to the segments of its wave; each kind of finding once.
template <bool Checked>
class Segments {
 public:
  Segments(Wave& wave, const Inst& inst, LaneAccess& access, unsigned size, Access touch)
      : wave_(wave),
        inst_(inst),
        access_(access),
        bytes_(wave.launch->kernel.scratch_bytes),
        size_(size),
        stores_(touch == Access::store) {
    access.lanes = access.partial = 0;
    if constexpr (Checked) {
      if (!wave.scratch_written && bytes_ != 0)
        wave.scratch_written.reset(new std::uint8_t[std::size_t{bytes_} * kLanes]());
    }
  }

  /// `lane` goes to byte `at` of the segment of lane `owner`.
  void touch(unsigned lane, unsigned owner, std::uint32_t at) {
    if (at > bytes_ || bytes_ - at < size_ || wave_.scratch == nullptr) {
      return outside(lane, std::to_string(size_) + " bytes at " + std::to_string(static_cast<std::int32_t>(at)) +
                               " of a private segment of " + std::to_string(bytes_) + " bytes");
    }
    const std::size_t place = std::size_t{bytes_} * owner + at;
    access_.address[lane] = reinterpret_cast<std::uint64_t>(wave_.scratch) + place;
    access_.lanes |= LaneMask{1} << lane;
    if constexpr (Checked) note(lane, owner, at, wave_.scratch_written.get() + place);
  }

  void outside(unsigned lane, std::string what) {
    if (!outside_reported_)
      wave_.launch->findings.add(Rule::out_of_bounds, wave_, inst_, static_cast<int>(lane), std::move(what));
    outside_reported_ = true;
  }

  /// Gives lanes that take no part the address of one that does.
  void spread() noexcept {
    if (access_.lanes == 0) return;
    const std::uint64_t any = access_.address[std::countr_zero(access_.lanes)];
    for_each_lane(~access_.lanes, [&](unsigned lane) { access_.address[lane] = any; });
  }

 private:
  void note(unsigned lane, unsigned owner, std::uint32_t at, std::uint8_t* written) {
    if (stores_) {
      std::memset(written, 1, size_);
    } else if (const void* gap = std::memchr(written, 0, size_); gap != nullptr && !unwritten_reported_) {
      unwritten_reported_ = true;
      const auto byte = static_cast<std::size_t>(static_cast<const std::uint8_t*>(gap) - written) + at;
      const std::string whose = lane == owner ? "this lane's" : "lane " + std::to_string(owner) + "'s";
      wave_.launch->findings.add(
          Rule::uninitialised, wave_, inst_, static_cast<int>(lane),
          "nothing has written byte " + std::to_string(byte) + " of " + whose + " private segment");
    }
  }

  Wave& wave_;
  const Inst& inst_;
  LaneAccess& access_;
  std::uint32_t bytes_;
  unsigned size_;
  bool stores_;
  bool outside_reported_ = false, unwritten_reported_ = false;
};

}  // namespace

std::uint64_t wave_scratch_bytes(const Kernel& kernel) noexcept {
  return (rows_bytes(kernel) + 1023) / 1024 * 1024;
}

std::array<std::uint32_t, 4> scratch_resource() noexcept {
  constexpr std::uint32_t kSwizzle = 1u << 31;  // beside the base's upper bits and a stride of 0
  constexpr std::uint32_t kSelectXyzw = 4 | 5 << 3 | 6 << 6 | 7 << 9, kUint = 4 << 12, kDword = 4 << 15;
  constexpr std::uint32_t kElementOf4 = 1 << 19, kIndexStride64 = 3 << 21, kAddThread = 1 << 23;
  return {static_cast<std::uint32_t>(kScratchPool), static_cast<std::uint32_t>(kScratchPool >> 32) | kSwizzle,
          kScratchPoolBytes, kSelectXyzw | kUint | kDword | kElementOf4 | kIndexStride64 | kAddThread};
}

template <bool Checked>
void admit_scratch(Wave& wave, const Inst& inst, LaneAccess& access, const std::uint32_t* offset, LaneMask lanes,
                   unsigned size, Access touch) {
  Segments<Checked> segments(wave, inst, access, size, touch);
  if (lanes == 0) return;
  const std::uint64_t base = wave.pair(kFlatScratch);
  if (wave.scratch_base != 0 && base != wave.scratch_base) {
    return segments.outside(
        static_cast<unsigned>(std::countr_zero(lanes)),
        "flat_scratch is " + hexadecimal(base) + "; this wave's scratch begins at " + hexadecimal(wave.scratch_base));
  }
  for_each_lane(lanes, [&](unsigned lane) { segments.touch(lane, lane, offset[lane]); });
  segments.spread();
}

template <bool Checked>
bool admit_scratch_buffer(Wave& wave, const Inst& inst, const Resource& resource, LaneAccess& access, unsigned size,
                          Access touch) {
  if (size > 4) {
    wave.launch->findings.add(Rule::unsupported, wave, inst, -1,
                              "scratch is accessed through its buffer in dwords or less");
    return false;
  }
  buffer_addresses(wave, inst, resource, size, false, 0, access);
  const LaneMask beyond = wave.exec() & ~access.lanes;
  require_alignment(wave, inst, access, size);
  const LaneMask lanes = access.lanes;
  const std::uint64_t own = rows_bytes(wave.launch->kernel);
  Segments<Checked> segments(wave, inst, access, size, touch);
  for_each_lane(beyond, [&](unsigned lane) {
    segments.outside(lane, std::to_string(size) + " bytes beyond the " + std::to_string(resource.records) +
                               " of the buffer of scratch");
  });
  for_each_lane(lanes, [&](unsigned lane) {
    const std::uint64_t at = access.address[lane] - wave.scratch_base;
    if (at >= own) {
      return segments.outside(lane, std::to_string(size) + " bytes at " +
                                        std::to_string(static_cast<std::int64_t>(at)) + " of this wave's " +
                                        std::to_string(own) + " bytes of scratch");
    }
    // Dwords of one private address lie side by side, one per lane.
    segments.touch(lane, static_cast<unsigned>(at % kRow / 4), static_cast<std::uint32_t>(at / kRow * 4 + at % 4));
  });
  segments.spread();
  return true;
}

void refuse_scratch_buffer(Wave& wave, const Inst& inst) {
  wave.launch->findings.add(Rule::unsupported, wave, inst, -1,
                            "the buffer of scratch takes neither atomics nor loads to LDS");
}

template void admit_scratch<false>(Wave&, const Inst&, LaneAccess&, const std::uint32_t*, LaneMask, unsigned, Access);
template void admit_scratch<true>(Wave&, const Inst&, LaneAccess&, const std::uint32_t*, LaneMask, unsigned, Access);
template bool admit_scratch_buffer<false>(Wave&, const Inst&, const Resource&, LaneAccess&, unsigned, Access);
template bool admit_scratch_buffer<true>(Wave&, const Inst&, const Resource&, LaneAccess&, unsigned, Access);

}  // namespace ckgen::emu
