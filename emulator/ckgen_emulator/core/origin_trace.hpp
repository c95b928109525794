// From a store back to what its value was made of.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "origins.hpp"

namespace ckgen::emu {

/// One trace of Origins, nearest writers first, at most kMost of them, of which kMostFollowed are followed. Its text:
/// JSON objects, comma separated, of `kernel`, `address`, `instruction`, `group`, `wave`, `lane` (-1: any) and
/// `operands`, each with
///   name, lane, by (number of the step that wrote it, from 0; null: none), why (null where there is one), which is
///     "launch": no instruction of its wave; "host": no store of these launches; "more": beyond kMost.
/// Steps that are not followed have null for operands: writers of addresses, the last ones, and those of workgroups and
/// launches that are over.
class OriginTrace {
 public:
  static constexpr std::size_t kMost = 400, kMostFollowed = 128;

  explicit OriginTrace(Origins& from) noexcept : from_(from) {}

  /// Of the wave's latest event, a store: `halves` halves of dwords of a lane's data from `half` on.
  std::string of_store(const WaveHistory& history, unsigned lane, unsigned half, unsigned halves);

 private:
  /// A part of what an event gave; `half` -1: all of it.
  struct Asked {
    const WaveHistory* history = nullptr;  // null: of what is over
    std::size_t event = 0;                 // of what is over: the store's record
    int lane = -1, half = -1, halves = 2;
  };
  struct Named {
    std::string name;
    int lane = -1, by = -1;
    const char* why = nullptr;
  };
  struct Step {
    Asked asked;
    std::uint32_t label = 0;
    std::array<std::uint32_t, 3> group{};
    std::uint32_t wave = 0;
    bool followed = false, done = false;
    std::vector<Named> operands;
  };

  const Inst& inst_of(const Asked& one) const;
  std::uint16_t traits_of(const Asked& one) const;
  int step(const Asked& asked, const StoreRecord* over, bool followed);
  void follow(std::size_t index);
  void memory(std::size_t index);
  void registers(std::size_t index);
  void stored(std::size_t index, const Operand& data);
  void named(std::size_t index, const Operand& operand, unsigned part, int lane, int half, bool followed);
  bool wrote(const Asked& one, unsigned code, int lane, int half, Asked& found) const;
  std::string text() const;

  Origins& from_;
  std::vector<Step> steps_;
  std::deque<std::size_t> waiting_;
  std::size_t followed_ = 0;
};

}  // namespace ckgen::emu
