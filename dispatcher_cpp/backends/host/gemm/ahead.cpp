#include "backends/host/gemm/ahead.hpp"

#include "backends/host/gemm/driver.hpp"
#include "ckgen/dtype.hpp"

#include <algorithm>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

constexpr std::int64_t kRunBytes = kAheadWords * 64;

}  // namespace

Ahead::Ahead(const PackSource& b, std::int64_t n0, std::int64_t columns, std::int64_t k0, std::int64_t depth) noexcept {
  std::int64_t rows = columns, bytes = 0;
  if (b.prepacked) {
    const std::int64_t e = elements_per_word(b.kind);
    pitch_ = b.ld * kPanelColumns * 4;
    base_ = b.base + n0 / kPanelColumns * pitch_ + k0 / e * kPanelColumns * 4;
    rows = ceil_div(columns, kPanelColumns);
    bytes = ceil_div(depth, e) * kPanelColumns * 4;
  } else if (b.k_contiguous && !b.preshuffled && b.rows == nullptr) {
    pitch_ = bytes_of(b.type, b.ld);
    base_ = b.base + bytes_of(b.type, n0 * b.ld + k0);
    bytes = bytes_of(b.type, depth);
  }
  if (bytes > 0 && bytes == pitch_) {  // rows without gaps are one run
    bytes *= rows;
    rows = 1;
  }
  across_ = std::max<std::int64_t>(1, ceil_div(bytes, kRunBytes));
  count_ = bytes > 0 ? rows * across_ : 0;
}

const unsigned char* const* Ahead::take(std::int64_t words) noexcept {
  const std::int64_t wanted = ceil_div(words, kAheadWords);
  if (next_ >= count_ || wanted > kMostRuns) return nullptr;
  for (std::int64_t i = 0; i < wanted; ++i) {
    const std::int64_t run = std::min(next_ + i, count_ - 1);
    runs_[i] = base_ + run / across_ * pitch_ + run % across_ * kRunBytes;
  }
  next_ += wanted;
  return runs_;
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
