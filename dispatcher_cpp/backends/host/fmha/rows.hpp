// The rows of one task of attention: their queries, what each sees, their sums, and what becomes of them.
#pragma once

#include "backends/host/fmha/columns.hpp"
#include "backends/host/fmha/cut.hpp"
#include "backends/host/fmha/options.hpp"
#include "backends/host/fmha/sequence.hpp"
#include "backends/host/fmha/task.hpp"

#include <cstdint>

namespace ckgen {
inline namespace v1 {
namespace host {

/// Columns [first, first + count) of a sequence.
struct FmhaTileColumns {
  std::int64_t first, count;
};

/// Heads are the task's KV heads, counted from 0; groups are kFmhaRows rows of one. `memory` of all is the slot's.
class FmhaRows {
 public:
  FmhaRows(const FmhaRun& run, const FmhaTask& task, int slot) noexcept;

  bool empty() const noexcept { return rows_ <= 0; }
  std::int64_t heads() const noexcept { return heads_; }
  std::int64_t groups() const noexcept { return (rows_ + kFmhaRows - 1) / kFmhaRows; }
  std::int64_t batch() const noexcept { return batch_; }
  std::int64_t kv_head(std::int64_t head) const noexcept { return first_head_ + head; }
  const FmhaSequence& sequence() const noexcept { return sequence_; }
  template <class T>
  T* at(std::size_t offset) const noexcept {
    return reinterpret_cast<T*>(memory_ + offset);
  }

  /// Tiles of tile_columns from the task's first column on that some row sees.
  FmhaTiles tiles() const noexcept;
  FmhaTileColumns columns(std::int64_t tile) const noexcept;

  /// Packs the queries; no column was seen yet.
  void begin() noexcept;

  /// Which columns of the tile a group's rows see, together (none: first == last) and each.
  struct Seen {
    std::int32_t rows, first, last;
    bool hidden;  // the panels of [first, last) hold columns that some row does not see
    FmhaSpan spans[kFmhaRows];
  };
  void see(std::int64_t group, const FmhaTileColumns& tile, Seen& seen) const noexcept;

  /// A step of a group over the columns that were seen; its scores are the place-th of FmhaGeometry::score_places, and
  /// `rescale` has kFmhaLanes values. K and V are left to say.
  FmhaStep step(std::int64_t head, std::int64_t group, std::int64_t place, const Seen& seen,
                float* rescale) const noexcept;
  /// Scores to weights.
  void weigh(std::int64_t head, std::int64_t group, const FmhaTileColumns& tile, const Seen& seen,
             FmhaStep& step) noexcept;

  /// Writes O and lse, or the split's part of them.
  void finish() noexcept;

 private:
  template <class T>
  T* own(std::int64_t head, std::size_t offset) const noexcept {
    return at<T>(g_.own + static_cast<std::size_t>(head) * g_.own_bytes + offset);
  }
  FmhaState& state(std::int64_t head, std::int64_t group) const noexcept {
    return own<FmhaState>(head, g_.state)[group];
  }
  float* out(std::int64_t head, std::int64_t group) const noexcept {
    return own<float>(head, g_.out) + group * g_.v_panels * kFmhaRows * g_.kernels->panel;
  }
  std::int64_t position(std::int64_t row) const noexcept { return (first_ + row) / g_.group; }
  std::int64_t q_head(std::int64_t head, std::int64_t row) const noexcept {
    return kv_head(head) * g_.group + (first_ + row) % g_.group;
  }
  FmhaPart part() const noexcept;
  /// Where the split's part of a row goes.
  FmhaPartial partial(std::int64_t head, std::int64_t row) const noexcept;
  void finish(std::int64_t head, std::int64_t row) noexcept;

  const FmhaRun& run_;
  const FmhaGeometry& g_;
  const FmhaTask& task_;
  unsigned char* const memory_;
  const std::int64_t batch_, first_head_, heads_;
  const FmhaSequence sequence_;
  const FmhaSequenceMask mask_;
  const std::int64_t first_, rows_;
  const FmhaPart part_;
  const std::int64_t origin_;  // the column that tiles are counted from
  FmhaOptions options_;
};

}  // namespace host
}  // namespace v1
}  // namespace ckgen
