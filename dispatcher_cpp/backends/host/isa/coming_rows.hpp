// Rows that are read soon, brought to the second-level cache while a product is computed. Included by the files of
// levels only.
#pragma once

#include "backends/host/fmha/backward_step.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

class ComingRows {
 public:
  /// Of a product of so many steps.
  ComingRows(const FmhaComing& rows, std::int64_t steps)
      : at_(static_cast<const unsigned char*>(rows.first)),
        stride_(rows.stride),
        bytes_(rows.bytes),
        left_(rows.rows),
        each_((rows.rows + steps - 1) / steps) {}

  void step() {
    for (std::int64_t i = 0; i < each_ && left_ > 0; ++i, --left_, at_ += stride_)
      for (std::int64_t byte = 0; byte < bytes_; byte += 64) __builtin_prefetch(at_ + byte, 0, 2);
  }

 private:
  const unsigned char* at_;
  const std::int64_t stride_, bytes_;
  std::int64_t left_;
  const std::int64_t each_;
};

}  // namespace
}  // namespace host
}  // namespace v1
}  // namespace ckgen
