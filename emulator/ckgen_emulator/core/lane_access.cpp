#include "lane_access.hpp"

#include <algorithm>
#include <string>

#include "lane_runs.hpp"

namespace ckgen::emu {
namespace {

constexpr unsigned kMostBytes = 16;

bool writes(Access access) {
  return is_store(access) || is_atomic(access);
}
bool reads(Access access) {
  return !is_store(access);
}

void outside(Wave& wave, const Inst& inst, unsigned lane, std::uint64_t address, unsigned bytes, Access access) {
  wave.launch->findings.add(
      Rule::out_of_bounds, wave, inst, static_cast<int>(lane),
      std::string(writes(access) ? "written: " : "read: ") + wave.launch->memory.place(address, bytes));
}

/// One instruction's checks of what lies inside of allocations.
class Inspector {
 public:
  Inspector(Wave& wave, const Inst& inst, const Touching& touching)
      : wave_(wave),
        inst_(inst),
        touching_(touching),
        stamp_(wave.launch->order.stamp(wave, touching.number, touching.access)) {}

  /// All lanes of an access that is inside of one allocation.
  void inspect(Allocation& allocation, const LaneAccess& access, unsigned size) {
    const LaneRuns runs = lane_runs(access.address, access.lanes, size);
    if (allocation.written && !note_written(allocation, runs)) {
      for_each_lane(access.lanes, [&](unsigned lane) { note_written(allocation, lane, access.address[lane], size); });
    }
    if (stamp_ == 0 || (!runs.empty() && GlobalOrder::check_alone(allocation, runs, touching_.access, stamp_)) ||
        GlobalOrder::check_alone(allocation, access.address, access.lanes, size, touching_.access, stamp_))
      return;
    for_each_lane(access.lanes, [&](unsigned lane) { order(allocation, lane, access.address[lane], size); });
    for_each_lane(access.lanes, [&](unsigned lane) { sign(allocation, access.address[lane], size); });
  }
  /// One lane, which is to `sign` when all are inspected.
  void inspect(Allocation& allocation, unsigned lane, std::uint64_t address, unsigned bytes) {
    if (allocation.written) note_written(allocation, lane, address, bytes);
    if (stamp_ != 0) order(allocation, lane, address, bytes);
  }
  void sign(Allocation& allocation, std::uint64_t address, unsigned bytes) {
    if (stamp_ != 0) GlobalOrder::sign(allocation, address, bytes, touching_.access, stamp_);
  }

 private:
  /// False, with nothing done, where there are no runs or something that is read was not written.
  bool note_written(Allocation& allocation, const LaneRuns& runs) {
    if (runs.empty()) return false;
    if (reads(touching_.access)) {
      for (const LaneRun& run : runs) {
        if (!all_written(allocation, run)) return false;
      }
    }
    if (writes(touching_.access)) {
      for (const LaneRun& run : runs) allocation.mark_written(run.address, run.bytes);
    }
    return true;
  }
  static bool all_written(const Allocation& allocation, const LaneRun& run) {
    for (std::uint64_t at = 0; at < run.bytes; at += 64) {
      const auto part = static_cast<unsigned>(std::min<std::uint64_t>(run.bytes - at, 64));
      if (allocation.written_bytes(run.address + at, part) != part) return false;
    }
    return true;
  }

  void note_written(Allocation& allocation, unsigned lane, std::uint64_t address, unsigned bytes) {
    if (reads(touching_.access)) check_written(allocation, lane, address, bytes);
    if (writes(touching_.access)) allocation.mark_written(address, bytes);
  }

  void order(Allocation& allocation, unsigned lane, std::uint64_t address, unsigned bytes) {
    alignas(16) std::uint8_t data[kMostBytes];
    const bool stores = touching_.rows != nullptr;
    if (stores) stored_bytes(lane, bytes, data);
    wave_.launch->order.check(wave_, inst_, lane, allocation, address, bytes, touching_.access, stamp_,
                              stores ? data : nullptr);
  }

  void check_written(const Allocation& allocation, unsigned lane, std::uint64_t address, unsigned bytes) {
    const unsigned written = allocation.written_bytes(address, bytes);
    if (written == bytes || reported_) return;
    reported_ = true;
    wave_.launch->findings.add(
        Rule::uninitialised, wave_, inst_, static_cast<int>(lane),
        "nothing has written byte " + std::to_string(written) + " of " + wave_.launch->memory.place(address, bytes));
  }

  void stored_bytes(unsigned lane, unsigned bytes, std::uint8_t* data) const {
    for (unsigned at = 0; at < bytes; at += 4) {
      const std::uint32_t value = touching_.rows[at / 4][lane] >> touching_.shift;
      std::memcpy(data + at, &value, sizeof value);
    }
  }

  Wave& wave_;
  const Inst& inst_;
  const Touching& touching_;
  std::uint64_t stamp_;
  bool reported_ = false;
};

}  // namespace

template <bool Checked>
void admit(Wave& wave, const Inst& inst, LaneAccess& access, unsigned size, const Touching& touching) {
  const LaneMask wanted = access.lanes | access.partial;
  if (wanted == 0) return;
  Memory& memory = wave.launch->memory;
  const bool stores = writes(touching.access);
  const unsigned first = static_cast<unsigned>(std::countr_zero(wanted));
  Allocation* one = memory.find(access.address[first], 1);
  if (one != nullptr && access.partial == 0 && (one->writable || !stores) && one->bytes >= size) {
    const std::uint64_t base = one->base, limit = one->bytes - size;
    std::uint64_t farthest = 0;
    for (unsigned lane = 0; lane < kLanes; ++lane) farthest = std::max(farthest, access.address[lane] - base);
    if (farthest <= limit) {
      if constexpr (Checked) {
        Inspector inspector(wave, inst, touching);
        inspector.inspect(*one, access, size);
      }
      return;
    }
  }
  // Some lane is elsewhere: each by itself.
  Inspector inspector(wave, inst, touching);
  bool reported = false;
  LaneMask refused = 0;
  Allocation* holder[kLanes];
  const auto bytes_of = [&](unsigned lane) {
    return (access.partial >> lane & 1) != 0 ? 4u * access.dwords[lane] : size;
  };
  for_each_lane(wanted, [&](unsigned lane) {
    const std::uint64_t address = access.address[lane];
    const unsigned bytes = bytes_of(lane);
    if (one == nullptr || !one->holds(address, bytes)) one = memory.find(address, bytes);
    holder[lane] = one;
    if (one == nullptr || (stores && !one->writable)) {
      refused |= LaneMask{1} << lane;
      if (!reported) outside(wave, inst, lane, address, bytes, touching.access);
      reported = true;
    } else if constexpr (Checked) {
      inspector.inspect(*one, lane, address, bytes);
    }
  });
  if constexpr (Checked) {
    for_each_lane(wanted & ~refused,
                  [&](unsigned lane) { inspector.sign(*holder[lane], access.address[lane], bytes_of(lane)); });
  }
  access.lanes &= ~refused;
  access.partial &= ~refused;
}

void require_alignment(Wave& wave, const Inst& inst, LaneAccess& access, unsigned alignment) {
  std::uint64_t low = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) low |= access.address[lane];
  if ((low & (alignment - 1)) == 0 || (access.lanes | access.partial) == 0) return;
  LaneMask wrong = 0;
  for_each_lane(access.lanes | access.partial, [&](unsigned lane) {
    if ((access.address[lane] & (alignment - 1)) != 0) wrong |= LaneMask{1} << lane;
  });
  if (wrong == 0) return;
  const unsigned lane = static_cast<unsigned>(std::countr_zero(wrong));
  wave.launch->findings.add(
      Rule::misaligned, wave, inst, static_cast<int>(lane),
      "not a multiple of " + std::to_string(alignment) + ": " + wave.launch->memory.place(access.address[lane], 4));
  access.lanes &= ~wrong;
  access.partial &= ~wrong;
}

template void admit<false>(Wave&, const Inst&, LaneAccess&, unsigned, const Touching&);
template void admit<true>(Wave&, const Inst&, LaneAccess&, unsigned, const Touching&);

}  // namespace ckgen::emu
