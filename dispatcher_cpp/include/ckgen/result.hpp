// A value or the reason why there is none.
#pragma once

#include <utility>

#include <ckgen/status.hpp>

namespace ckgen {
inline namespace v1 {

/// Converts to true when it holds a value; `status()` says why not otherwise. Never throws of its own accord.
template <class T>
class Result {
 public:
  Result(T value) noexcept : value_(std::move(value)), status_(Status::success()) {}  // NOLINT: a value is a result
  Result(const Status& status) noexcept : value_(), status_(status) {}                // NOLINT: so is a reason

  explicit operator bool() const noexcept { return status_.ok(); }
  const Status& status() const noexcept { return status_; }

  /// Only while `*this` converts to true.
  const T& operator*() const noexcept { return value_; }
  const T* operator->() const noexcept { return &value_; }

 private:
  T value_;
  Status status_;
};

}  // namespace v1
}  // namespace ckgen
