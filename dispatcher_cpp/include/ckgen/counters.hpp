// How often a dispatcher was asked, and what answered.
#pragma once

#include <cstdint>

#include <ckgen/selection.hpp>

namespace ckgen {
inline namespace v1 {

/// Whether a tier leaves a problem to be tuned: no measured row is at or near its sizes, and nobody chose for it.
constexpr bool is_missed(Tier tier) noexcept {
  return tier != Tier::forced && tier != Tier::override_ && tier != Tier::exact && tier != Tier::near_;
}

/// Answers of select(), and of plan() without a selection, since the dispatcher was made. A moment's view: numbers of
/// several threads that select meanwhile need not add up.
struct Counters {
  std::uint64_t tiers[kTierCount] = {};  // by Tier; `unsupported` counts illegal problems too
  std::uint64_t recorded = 0;            // distinct problems in this process's list of shapes
  std::uint64_t unrecorded = 0;          // misses of problems that were beyond its bound

  constexpr std::uint64_t of(Tier tier) const noexcept { return tiers[static_cast<int>(tier)]; }
  constexpr std::uint64_t hits() const noexcept { return counted(false); }
  constexpr std::uint64_t misses() const noexcept { return counted(true); }

 private:
  constexpr std::uint64_t counted(bool missed) const noexcept {
    std::uint64_t sum = 0;
    for (int i = 0; i < kTierCount; ++i) sum += is_missed(static_cast<Tier>(i)) == missed ? tiers[i] : 0;
    return sum;
  }
};

}  // namespace v1
}  // namespace ckgen
