// Lanes whose bytes lie one after the other in memory, taken together.
#pragma once

#include <cstdint>

#include "wave.hpp"

namespace ckgen::emu {

struct LaneRun {
  std::uint64_t address = 0, bytes = 0;
};

/// All lanes of an access, in runs; none where more than kMost would be needed.
class LaneRuns {
 public:
  static constexpr unsigned kMost = 8;

  const LaneRun* begin() const noexcept { return runs_; }
  const LaneRun* end() const noexcept { return runs_ + count_; }
  bool empty() const noexcept { return count_ == 0; }
  void add(const LaneRun& run) noexcept { runs_[count_++] = run; }

 private:
  unsigned count_ = 0;
  LaneRun runs_[kMost];
};

/// `size` bytes at each address; only those of `lanes` count.
LaneRuns lane_runs(const std::uint64_t* addresses, LaneMask lanes, unsigned size) noexcept;

}  // namespace ckgen::emu
