// Which columns rows of one sequence see, and in which tiles they lie: arithmetic only.
#pragma once

#include "ckgen/fmha_mask.hpp"

#include <algorithm>
#include <cstdint>

namespace ckgen {
inline namespace v1 {
namespace host {

class FmhaSequenceMask {
 public:
  FmhaSequenceMask(const FmhaShape& x, bool masked, std::int64_t length_q, std::int64_t length_k) noexcept
      : mask_{masked, x.corner, x.window_left, x.window_right, x.sink_tokens},
        length_q_(length_q),
        length_k_(length_k) {}

  FmhaColumns row(std::int64_t i) const noexcept { return rows(i, i + 1); }

  /// What rows [begin, end) see together; end > begin.
  FmhaColumns rows(std::int64_t begin, std::int64_t end) const noexcept {
    return fmha_columns(mask_, length_q_, length_k_, begin, end - 1);
  }

  /// Whether all rows [begin, end) see all columns [first, last).
  bool all_see(std::int64_t begin, std::int64_t end, std::int64_t first, std::int64_t last) const noexcept {
    return row(begin).end >= last && row(end - 1).begin <= first;
  }

 private:
  FmhaMask mask_;
  std::int64_t length_q_, length_k_;
};

/// Tiles of n0 columns in order: those of the sinks, then the window's.
struct FmhaTiles {
  std::int64_t sink, first, last;

  FmhaTiles(const FmhaColumns& seen, std::int64_t n0) noexcept
      : sink((seen.sink_end + n0 - 1) / n0),
        first(std::max(seen.begin / n0, sink)),
        last(std::max((seen.end + n0 - 1) / n0, first)) {
    if (seen.end <= seen.begin) last = first;
  }
  std::int64_t count() const noexcept { return sink + last - first; }
  std::int64_t operator[](std::int64_t i) const noexcept { return i < sink ? i : first + i - sink; }
};

}  // namespace host
}  // namespace v1
}  // namespace ckgen
