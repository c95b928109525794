#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace ckgen::inline v1::detail {

/// A constant that is exchanged while others read it without a lock. Those that were replaced live as long as this,
/// because a reader may still be in one: exchanges are rare.
template <class Value>
class Exchanged {
 public:
  /// Null where there is none. Thread-safe.
  const Value* current() const noexcept { return current_.load(std::memory_order_acquire); }

  /// Throws std::bad_alloc only. Thread-safe.
  void exchange(std::unique_ptr<const Value> value) {
    const std::lock_guard lock(mutex_);
    const Value* const now = value.get();
    if (now != nullptr) values_.push_back(std::move(value));
    current_.store(now, std::memory_order_release);
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<const Value>> values_;
  std::atomic<const Value*> current_{nullptr};
};

}  // namespace ckgen::inline v1::detail
