// Answers by tier, counted by many threads.
#pragma once

#include <atomic>

#include <ckgen/counters.hpp>

namespace ckgen::inline v1::detail {

/// Threads add to one of several places, so that they rarely wait for each other's cache line. Thread-safe.
class Tally {
 public:
  void add(Tier tier) noexcept {
    places_[place()].tiers[static_cast<int>(tier)].fetch_add(1, std::memory_order_relaxed);
  }
  void sum(Counters& out) const noexcept {
    for (const Place& place : places_) {
      for (int i = 0; i < kTierCount; ++i) out.tiers[i] += place.tiers[i].load(std::memory_order_relaxed);
    }
  }

 private:
  static constexpr unsigned kPlaces = 16;
  struct alignas(128) Place {
    std::atomic<std::uint64_t> tiers[kTierCount] = {};
  };

  /// The calling thread's; threads take turns.
  static unsigned place() noexcept {
    static std::atomic<unsigned> threads{0};
    static thread_local unsigned own = 0;  // 0: not given yet
    if (own == 0) own = 1 + threads.fetch_add(1, std::memory_order_relaxed) % kPlaces;
    return own - 1;
  }

  Place places_[kPlaces];
};

}  // namespace ckgen::inline v1::detail
