// What a checked run knows of each byte of LDS, and what it concludes from every access.
//
// Two accesses of different waves to the same byte race if one of them writes, they are not both atomic, and no barrier
// orders them. A barrier orders what was performed before it: an LDS instruction is performed when its wave has waited
// for it with lgkmcnt (LLVM's AMDGPU usage guide, "Memory Model gfx942": a workgroup's release is s_waitcnt lgkmcnt(0)
// before s_barrier, and s_barrier waits for nothing itself; SIInsertWaitcnts puts no wait of its own there). So an
// access belongs to the epoch between two barriers in which it was issued, and to every later one that begins while it
// is outstanding. All waves of a workgroup are in the same epoch.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "wave.hpp"

namespace ckgen::emu {

enum class Touch : std::uint8_t { read, write, atomic };

constexpr unsigned kGroupWaves = 16;  // 1024 work items

/// One access of up to 64 lanes, as the log keeps it.
struct LdsAccess {
  const Inst* inst = nullptr;
  LaneMask lanes = 0;
  std::uint32_t number = 0;  // of the wave's lgkm counter; of vm where a direct-to-LDS load waits in its queue
  std::uint32_t epoch = 0;
  std::uint8_t bytes = 0;  // per lane
  Touch touch = Touch::read;
  bool carried = false;  // into a later epoch than that of its issue
  alignas(64) std::uint32_t at[kLanes];
};

struct LdsDelivery;

/// The youngest accesses of one wave. lgkmcnt holds 15, so what is outstanding is always among them.
struct LdsLog {
  static constexpr unsigned kKept = 32;
  const Wave* wave = nullptr;
  std::uint32_t count = 0;
  std::array<LdsAccess, kKept> ring;
};

/// Not thread-safe: a workgroup runs on one thread.
class LdsChecks {
 public:
  void start(std::size_t bytes);
  void mark_written() noexcept;
  void barrier_passed();

  /// The slot for an access that begins; the caller fills in `at` and `lanes`, all inside of LDS, and calls check().
  LdsAccess& open(const Wave& wave, const Inst& inst, Touch touch, unsigned bytes, std::uint32_t number) {
    LdsLog& log = log_of(wave);
    LdsAccess& slot = log.ring[log.count++ % LdsLog::kKept];
    slot.inst = &inst;
    slot.lanes = 0;
    slot.number = number;
    slot.epoch = epoch_;
    slot.bytes = static_cast<std::uint8_t>(bytes);
    slot.touch = touch;
    slot.carried = false;
    return slot;
  }
  void check(Wave& wave, const LdsAccess& access);
  /// The same for one lane alone, as part of the instruction's access if that is open already.
  void check_lane(Wave& wave, const Inst& inst, Touch touch, unsigned lane, std::uint32_t at, unsigned bytes,
                  std::uint32_t number);

  /// A direct-to-LDS load is issued, and LDS does not hold its data yet: from now on nobody may touch the bytes.
  /// Several waves may load equal bytes to one place: whichever comes last, LDS holds the same.
  void dma_issued(Wave& wave, const Inst& inst, const LdsDelivery& delivery);
  /// Its wave has waited for it: a write of this epoch.
  void dma_waited(const Wave& wave, const LdsAccess& access);

 private:
  /// What is wrong with one access to one byte or dword.
  enum Problem : unsigned { kUnwritten = 1, kRacesWithWrite = 2, kRacesWithRead = 4, kBeforeDma = 8 };

  LdsLog& log_of(const Wave& wave) {
    auto& log = logs_[wave.index % kGroupWaves];
    if (!log) log = std::make_unique<LdsLog>();
    log->wave = &wave;
    return *log;
  }
  bool check_dwords(unsigned wave, const LdsAccess& access);
  bool check_small(unsigned wave, const LdsAccess& access);
  bool dma_issued_in_order(unsigned wave, const LdsDelivery& delivery);
  bool dma_waited_in_order(unsigned wave, const LdsAccess& access);
  bool merge_touched(const LdsAccess& access) noexcept;
  void check_slowly(Wave& wave, const Inst& inst, Touch touch, unsigned lane, std::uint32_t at, unsigned bytes,
                    unsigned& reported);
  template <class Visitor>
  void visit(std::uint32_t at, unsigned bytes, Visitor&& visitor);
  void split(std::uint32_t dword);
  void merge(std::uint32_t dword) noexcept;
  unsigned judge(std::uint64_t state, Touch touch, unsigned wave) const noexcept;
  void stamp(std::uint64_t& state, Touch touch, unsigned wave) const noexcept;
  bool lands_alike(const Wave& wave, std::uint32_t byte, unsigned count, bool in_flight,
                   const std::uint8_t* data) const;
  void carry(LdsLog& log);
  void report(Wave& wave, const Inst& inst, Touch touch, unsigned lane, std::uint32_t byte, std::uint64_t state,
              unsigned problem) const;
  std::string culprit(unsigned wave, std::uint32_t byte, std::uint64_t state, bool writes) const;
  void forget_epochs() noexcept;

  std::vector<std::uint64_t> dwords_;
  std::vector<std::uint64_t> bytes_;  // four per dword; as long as nothing is split, none
  std::array<std::unique_ptr<LdsLog>, kGroupWaves> logs_;
  std::uint32_t epoch_ = 1;  // never 0, which an untouched state holds
};

/// Whether an access can be checked by the states of dwords: lanes of at least one, or smaller ones that fill aligned
/// quadruples of them.
bool by_dwords(const LdsAccess& access) noexcept;

/// Whether every lane takes part and begins where the one below it ends.
bool consecutive(LaneMask lanes, const std::uint32_t* at, unsigned bytes) noexcept;
inline bool consecutive(const LdsAccess& access) noexcept {
  return consecutive(access.lanes, access.at, access.bytes);
}

/// The checks of a wave's workgroup.
LdsChecks& lds_checks(const Wave& wave);

}  // namespace ckgen::emu
