// Which workgroup's writes another workgroup may see: release and acquire over caches that are not coherent.
//
// Happens-before with vector clocks. A wave's clock is the number of its vector memory operations (Waits); what a wave
// knows of another one is two such numbers: up to which its writes have left its caches (`flushed`) and up to which its
// operations are complete (`completed`). Source of what releases and acquires: "Memory Model gfx942" of LLVM's AMDGPU
// usage guide, at agent scope: write; buffer_wbl2 sc1; s_waitcnt vmcnt(0); atomic or store sc1 — load sc1 or atomic
// with return; s_waitcnt vmcnt(0); buffer_inv sc1; read. Stores sc1 write through and need no buffer_wbl2. Inside of a
// workgroup: s_waitcnt vmcnt(0) and a barrier. XCDs are not looked at: workgroups may be spread otherwise.
//
// Approximations: of each dword the last writer and the last plain reader are kept, so a conflict with an earlier one
// is missed; two writes of the same value are no race, nor is an atomic after a plain read (the read is one where it
// comes later). Accesses that all go past the caches do not race, but for a store and a sum: which comes first decides
// the result.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "memory.hpp"

namespace ckgen::emu {

struct Inst;
struct Launch;
class LaneRuns;
struct Wave;
struct Workgroup;

/// What is known of other waves. Immutable once shared.
struct Clock {
  struct Entry {
    std::uint32_t wave = 0;  // GlobalOrder's number of it
    std::uint32_t flushed = 0, completed = 0;
  };
  std::vector<Entry> entries;  // by wave

  const Entry* find(std::uint32_t wave) const noexcept;
  /// Whether it has an entry for any wave of a workgroup.
  bool knows(std::uint32_t group) const noexcept;
};
using SharedClock = std::shared_ptr<const Clock>;

constexpr unsigned kMostWaves = 16;  // of a workgroup

/// What a wave has released and acquired.
struct WaveOrder {
  struct Pending {
    std::uint32_t number = 0;  // of the load that saw it
    SharedClock clock;
  };
  SharedClock seen;   // acquired by loads that are complete
  SharedClock fresh;  // the part of it that a buffer_inv has made true of plain loads too
  std::vector<Pending> pending;
  std::uint32_t write_back = 0;                     // number of the buffer_wbl2 that is under way, 0: none
  std::array<std::uint32_t, kMostWaves> covered{};  // by it, of each wave of the workgroup
  std::array<std::uint32_t, kMostWaves> flushed{};  // of each wave of the workgroup
};

/// A plain load of what another workgroup writes with atomics: no race if the same wave's compare-and-swap confirms
/// the value before it is used for anything else, as loops that add in small types begin.
struct Unconfirmed {
  std::uint32_t wave = 0;  // in its workgroup
  std::uint64_t address = 0;
  unsigned lane = 0;
  const Inst* inst = nullptr;
  std::string what;
};

struct GroupOrder {
  std::uint32_t linear = ~0u;                       // the workgroup that it is of
  std::array<std::uint32_t, kMostWaves> arrived{};  // operations of each wave that were complete at the last barrier
  std::uint32_t scalar_invalidated = 0;             // waves that have executed s_dcache_inv
  std::vector<WaveOrder> waves;                     // empty until something releases or acquires
  std::vector<Unconfirmed> unconfirmed;
};

/// How an instruction touches global memory; `scoped`: with sc1, so past the caches that are not coherent. A `sum` is
/// an atomic of floats without return: data, where other atomics may be flags.
enum class Access : std::uint8_t { load, scoped_load, store, scoped_store, atomic, sum };

constexpr bool is_store(Access access) noexcept {
  return access == Access::store || access == Access::scoped_store;
}
constexpr bool is_atomic(Access access) noexcept {
  return access == Access::atomic || access == Access::sum;
}

/// One launch's; checked runs only. Thread-safe; publish and pick_up belong to instructions that run one at a time.
class GlobalOrder {
 public:
  /// How a wave's operation `number` signs what it touches; 0 where nothing is checked (gfx90a: its L2 is one).
  std::uint64_t stamp(const Wave& wave, std::uint32_t number, Access access);

  /// Before a lane touches `bytes` at `address`, all in `allocation`; `data`: what it stores, null for others.
  void check(Wave& wave, const Inst& inst, unsigned lane, Allocation& allocation, std::uint64_t address, unsigned bytes,
             Access access, std::uint64_t stamp, const std::uint8_t* data);

  /// Records that access. All lanes of an instruction are checked before the first signs.
  static void sign(Allocation& allocation, std::uint64_t address, unsigned bytes, Access access, std::uint64_t stamp);
  /// Both for all lanes, each of `size` bytes there, where nobody else's record is met; else false, with nothing
  /// done.
  static bool check_alone(Allocation& allocation, const std::uint64_t* addresses, std::uint64_t lanes, unsigned size,
                          Access access, std::uint64_t stamp);
  /// The same for runs of lanes; false too where one is not whole dwords.
  static bool check_alone(Allocation& allocation, const LaneRuns& runs, Access access, std::uint64_t stamp);

  /// Before a store sc1 (`replaces`) or an atomic to the addresses of `lanes`.
  void publish(Wave& wave, const std::uint64_t* addresses, std::uint64_t lanes, bool replaces);
  /// After a load sc1 or an atomic with return, the wave's operation `number`.
  void pick_up(Wave& wave, const std::uint64_t* addresses, std::uint64_t lanes, std::uint32_t number);

  /// buffer_wbl2 sc1, the wave's operation `number`.
  void write_back(Wave& wave, std::uint32_t number);
  /// buffer_inv sc1.
  void invalidate(Wave& wave);
  void scalar_invalidate(Wave& wave);
  /// Before a scalar load of one dword.
  void scalar_load(Wave& wave, const Inst& inst, Allocation& allocation, std::uint64_t address);
  /// The wave ends: what it has not confirmed was a race.
  void ended(Wave& wave);
  /// Every wave of the workgroup waits at a barrier, or has ended.
  void at_barrier(Workgroup& group);

 private:
  enum class Against : std::uint8_t { writer, reader };

  void begin(const Launch& launch);
  GroupOrder& order_of(Workgroup& group);
  WaveOrder& active(Wave& wave);
  static void settle(Wave& wave, WaveOrder& order);
  SharedClock released(Wave& wave);
  void confirm(Wave& wave, std::uint64_t address);
  void examine(Wave& wave, const Inst& inst, unsigned lane, std::uint64_t address, std::uint64_t record,
               Against against, Access access);

  std::once_flag begun_;
  std::atomic<std::uint32_t> epoch_{0};
  bool enabled_ = false, synchronises_ = false;
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, SharedClock> published_;  // by address
};

}  // namespace ckgen::emu
