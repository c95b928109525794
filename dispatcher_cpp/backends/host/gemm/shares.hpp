// How the threads of a call take slices of an operand that stays in their caches: each its own first, the same in every
// call, and then what others left, for cores are not equally fast.
#pragma once

#include "backends/host/gemm/driver.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace ckgen {
inline namespace v1 {
namespace host {

class Shares {
 public:
  Shares(std::int64_t count, int slots) noexcept
      : count_(count),
        each_(ceil_div(count, std::clamp(slots, 1, kMost))),
        parts_(static_cast<int>(ceil_div(count, std::max<std::int64_t>(each_, 1)))) {}

  // One of count; of as many calls each returns another.
  std::int64_t take(int slot) noexcept {
    for (int i = 0; i < parts_; ++i) {
      const int part = (slot + i) % parts_;
      const std::int64_t first = part * each_, length = std::min(each_, count_ - first);
      std::atomic<std::int64_t>& taken = taken_[part].value;
      if (taken.load(std::memory_order_relaxed) >= length) continue;
      const std::int64_t at = taken.fetch_add(1, std::memory_order_relaxed);
      if (at < length) return first + at;
    }
    return count_;
  }

 private:
  static constexpr int kMost = 16;
  struct alignas(64) Taken {
    std::atomic<std::int64_t> value{0};
  };
  const std::int64_t count_, each_;
  const int parts_;
  Taken taken_[kMost];
};

}  // namespace host
}  // namespace v1
}  // namespace ckgen
