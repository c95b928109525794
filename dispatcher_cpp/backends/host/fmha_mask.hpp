// Which columns a row sees, and which tiles a range of rows: arithmetic only.
#pragma once

#include "ckgen/fmha.hpp"

#include <algorithm>
#include <cstdint>

namespace ckgen {
inline namespace v1 {
namespace host {

/// Columns [first, last) and [0, sink) of a sequence; first <= last, and both ends grow with the row.
struct FmhaVisible {
  std::int64_t first, last, sink;
};

class FmhaMask {
 public:
  FmhaMask(const FmhaShape& shape, bool masked, std::int64_t length_q, std::int64_t length_k) noexcept
      : length_k_(length_k),
        shift_(shape.corner == FmhaCorner::bottom_right ? length_k - length_q : 0),
        left_(masked ? shape.window_left : -1),
        right_(masked ? shape.window_right : -1),
        sink_(masked ? shape.sink_tokens : 0) {}

  FmhaVisible row(std::int64_t i) const noexcept {
    const std::int64_t diagonal = i + shift_;
    const std::int64_t last = right_ < 0 ? length_k_ : std::clamp<std::int64_t>(diagonal + right_ + 1, 0, length_k_);
    const std::int64_t first = left_ < 0 ? 0 : std::clamp<std::int64_t>(diagonal - left_, 0, last);
    return {first, last, std::min(sink_, last)};
  }

  /// What rows [begin, end) see together; end > begin.
  FmhaVisible rows(std::int64_t begin, std::int64_t end) const noexcept {
    const FmhaVisible least = row(begin), most = row(end - 1);
    return {least.first, most.last, most.sink};
  }

  /// Whether all rows [begin, end) see all columns [first, last).
  bool all_see(std::int64_t begin, std::int64_t end, std::int64_t first, std::int64_t last) const noexcept {
    return row(begin).last >= last && row(end - 1).first <= first;
  }

 private:
  std::int64_t length_k_, shift_, left_, right_, sink_;
};

/// Tiles of n0 columns in order: [0, sink), then [first, last).
struct FmhaTiles {
  std::int64_t sink, first, last;

  FmhaTiles(const FmhaVisible& seen, std::int64_t n0) noexcept
      : sink((seen.sink + n0 - 1) / n0),
        first(std::max(seen.first / n0, sink)),
        last(std::max((seen.last + n0 - 1) / n0, first)) {
    if (seen.last <= seen.first) last = first;
  }
  std::int64_t count() const noexcept { return sink + last - first; }
  std::int64_t operator[](std::int64_t i) const noexcept { return i < sink ? i : first + i - sink; }
};

}  // namespace host
}  // namespace v1
}  // namespace ckgen
