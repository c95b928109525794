// How long runs on the default stream take: a GPU's by its own events, others by the clock.
#pragma once

#include <chrono>

#include "src/gpu/runtime.hpp"

namespace ckgen::inline v1::detail {

/// Of one thread, whose current device is the one that runs. `runtime` is null where no GPU does.
class Stopwatch {
 public:
  explicit Stopwatch(const GpuRuntime* runtime) noexcept : runtime_(runtime) {}
  ~Stopwatch() {
    for (void* event : {begin_, end_}) {
      if (event != nullptr) static_cast<void>(runtime_->release_event(event));
    }
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  Status start() noexcept {
    if (runtime_ == nullptr) {
      clock_ = Clock::now();
      return Status::success();
    }
    for (void** event : {&begin_, &end_}) {
      if (*event != nullptr) continue;
      if (const Status status = runtime_->create_event(event); !status.ok()) return status;
    }
    return runtime_->record(begin_, nullptr);
  }

  /// Waits until all that was launched since start() is done.
  Status stop(double& microseconds) noexcept {
    if (runtime_ == nullptr) {
      microseconds = std::chrono::duration<double, std::micro>(Clock::now() - clock_).count();
      return Status::success();
    }
    if (const Status status = runtime_->record(end_, nullptr); !status.ok()) return status;
    return runtime_->elapsed(begin_, end_, microseconds);
  }

 private:
  using Clock = std::chrono::steady_clock;

  const GpuRuntime* runtime_;
  Clock::time_point clock_;
  void* begin_ = nullptr;
  void* end_ = nullptr;
};

}  // namespace ckgen::inline v1::detail
