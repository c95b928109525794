// How the threads of a call take tasks: each its own share first, neighbours whose memory stays in its caches and which
// are the same in every call, and then what others left, for cores are not equally fast.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace ckgen {
inline namespace v1 {
namespace host {

/// Tasks [0, count), each taken once. Thread-safe.
class Shares {
 public:
  Shares(std::int64_t count, int threads) noexcept : count_(count), shares_(std::clamp(threads, 1, kMost)) {
    for (int i = 0; i < shares_; ++i) next_[i].taken = 0;  // a small product has one: the others cost it nothing
  }

  /// To be called `count` times: the next task of the thread's share; where it has none left, another's.
  std::int64_t take(int slot) noexcept {
    for (int share = slot % shares_;; share = (share + 1) % shares_) {
      const std::int64_t first = count_ * share / shares_, length = count_ * (share + 1) / shares_ - first;
      const std::atomic_ref<std::int64_t> taken(next_[share].taken);
      if (taken.load(std::memory_order_relaxed) >= length) continue;
      const std::int64_t at = taken.fetch_add(1, std::memory_order_relaxed);
      if (at < length) return first + at;
    }
  }

 private:
  static constexpr int kMost = 64;  // more threads have one in common
  struct alignas(64) Next {
    std::int64_t taken;
  };

  const std::int64_t count_;
  const int shares_;
  Next next_[kMost];
};

}  // namespace host
}  // namespace v1
}  // namespace ckgen
