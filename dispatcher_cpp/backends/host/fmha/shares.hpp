// Which task a thread does next: the threads' shares of all tasks are runs of neighbours, which read the same memory.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace ckgen {
inline namespace v1 {
namespace host {

/// Tasks [0, count), each taken once.
class FmhaShares {
 public:
  FmhaShares(std::int64_t count, int threads) noexcept : count_(count), shares_(std::clamp(threads, 1, kMost)) {}

  /// To be called `count` times: the next task of the thread's share; where it has none left, another's.
  std::int64_t take(int slot) noexcept {
    for (int share = slot % shares_;; share = (share + 1) % shares_) {
      const std::int64_t first = count_ * share / shares_, end = count_ * (share + 1) / shares_;
      const std::int64_t i = first + next_[share].taken.fetch_add(1, std::memory_order_relaxed);
      if (i < end) return i;
    }
  }

 private:
  static constexpr int kMost = 64;  // more threads have one in common
  struct alignas(64) Next {
    std::atomic<std::int64_t> taken{0};
  };

  const std::int64_t count_;
  const int shares_;
  Next next_[kMost];
};

}  // namespace host
}  // namespace v1
}  // namespace ckgen
