// Which instruction wrote what: of a run that is repeated to trace a wrong value, never of an ordinary one.
//
// Kept is what each wave executed, and of which stores the bytes are that it loaded. What wrote a register is found by
// going back through that; what wrote a byte of LDS or memory stands beside it, by halves of dwords. Of a direct-to-LDS
// load the bytes count as written when it is issued. Scratch, scalar memory and s_set_gpr_idx_on's registers are not
// followed, and a workgroup that has ended is known by its stores alone.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "launch.hpp"

namespace ckgen::emu {

struct TouchedPart;

/// Half a dword that a lane stored, counted in its data; kHost: nobody stored it since the launches began, kNotLoaded:
/// no load moved it.
using StoreId = std::uint64_t;
constexpr StoreId kHost = 0, kNotLoaded = ~StoreId{0};
constexpr unsigned kMostHalves = 8;  // of a lane's data
constexpr StoreId store_id(std::uint64_t record, unsigned lane, unsigned half) noexcept {
  return (record * kLanes + lane) * kMostHalves + half + 1;
}

/// What one wave executed. `loaded`: per half of a dword of what a load moves, 64 lanes of StoreId.
struct WaveHistory {
  struct Event {
    std::uint32_t inst = 0;    // index in the program
    std::uint32_t loaded = 0;  // index in `loaded`, plus 1; 0: no load
    LaneMask exec = 0;         // before it
  };
  std::vector<Event> events;
  std::vector<StoreId> loaded;
  std::uint32_t life = 0;  // changes when another workgroup begins
  std::array<std::uint32_t, 3> group{};
  std::uint32_t wave = 0;
};

struct StoreRecord {
  std::uint32_t label = 0;  // index in Origins::labels
  std::uint32_t event = 0;
  std::uint32_t life = 0;
  std::uint32_t wave = 0;
  std::array<std::uint32_t, 3> group{};
  const WaveHistory* history = nullptr;  // of `life`, or of somebody else by now
};

/// An instruction, as messages name it.
struct InstLabel {
  std::string kernel, text;
  std::uint32_t address = 0;
};

/// Thread-safe in executing().
class Origins {
 public:
  /// What follows is about one more launch, whose last store to what its options watch is traced.
  void begin(const Launch& launch);
  /// Before every instruction; `index`: in the program.
  void executing(const Wave& wave, const Inst& inst, std::size_t index);
  /// What wrote the watched bytes last, as JSON; see origin_trace.cpp. Ends the launch.
  std::string end();

 private:
  friend class OriginTrace;
  using Halves = std::vector<StoreId>;

  struct Local {
    std::uint64_t number = 0;  // the workgroup's, plus 1
    Halves halves;
  };

  WaveHistory& history_of(const Wave& wave);
  Halves& local(const Wave& wave);
  StoreId writer(const Wave& wave, bool lds, std::uint64_t address);
  void load(const Wave& wave, const TouchedPart& part, StoreId* loaded, unsigned halves);
  void store(const Wave& wave, WaveHistory& history, const TouchedPart& part, std::uint32_t record);
  std::uint32_t label_of(std::size_t inst);

  const Launch* launch_ = nullptr;
  std::uint64_t writes_ = 0;
  std::uint32_t lives_ = 0;
  std::string trace_;
  std::vector<InstLabel> labels_;
  std::vector<std::uint32_t> label_of_;  // by instruction of this launch's program, plus 1
  std::vector<StoreRecord> stores_;
  std::unordered_map<const Wave*, std::unique_ptr<WaveHistory>> waves_;
  std::unordered_map<const Workgroup*, Local> locals_;
  std::unordered_map<std::uint64_t, StoreId> memory_;  // by address / 2
  std::mutex mutex_;
};

}  // namespace ckgen::emu
