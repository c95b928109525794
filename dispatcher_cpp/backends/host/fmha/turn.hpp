// What levels want done around the steps of a task.
#pragma once

#include "backends/host/fmha/step.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {

/// A thread's steps of one task.
class FmhaTurnHeld {
 public:
  explicit FmhaTurnHeld(const FmhaTurn& turn) noexcept : turn_(turn) {
    if (turn_.begin != nullptr) turn_.begin();
  }
  ~FmhaTurnHeld() {
    if (turn_.end != nullptr) turn_.end();
  }
  FmhaTurnHeld(const FmhaTurnHeld&) = delete;
  FmhaTurnHeld& operator=(const FmhaTurnHeld&) = delete;

 private:
  const FmhaTurn& turn_;
};

}  // namespace host
}  // namespace v1
}  // namespace ckgen
