#include "backends/host/fmha_task.hpp"

#include "backends/host/fmha_columns.hpp"
#include "backends/host/fmha_options.hpp"
#include "backends/host/fmha_output.hpp"
#include "backends/host/fmha_pack.hpp"
#include "backends/host/fmha_sequence.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class TaskRun {
 public:
  TaskRun(const FmhaRun& run, const FmhaTask& task, int slot) noexcept
      : run_(run),
        g_(run.g),
        task_(task),
        memory_(run.slot(slot)),
        batch_(task.pair / run.g.shape.heads_k),
        kv_head_(task.pair % run.g.shape.heads_k),
        sequence_(sequence_of(run.g.signature, run.g.shape, run.args, batch_)),
        mask_(run.g.shape, run.g.signature.fmha.masked, sequence_.length_q, sequence_.length_k),
        first_(task.row_tile * run.g.m0),
        rows_(std::min(run.g.m0, sequence_.length_q * run.g.group - first_)),
        options_(run, sequence_, batch_, memory_) {}

  std::int64_t rows() const noexcept { return rows_; }

  void attend() noexcept {
    if (rows_ <= 0) return;
    begin();
    const FmhaTiles tiles(mask_.rows(position(0), position(rows_ - 1) + 1), g_.n0);
    const std::int64_t share = (tiles.count() + g_.splits - 1) / g_.splits;
    const std::int64_t end = std::min(tiles.count(), (task_.split + 1) * share);
    for (std::int64_t i = task_.split * share; i < end; ++i) attend(tiles[i], i + 1 < end ? tiles[i + 1] : tiles[i]);
    for (std::int64_t r = 0; r < rows_; ++r) finish(r);
  }

  void merge() noexcept {
    for (std::int64_t r = 0; r < rows_; ++r) merge(r);
  }

 private:
  template <class T>
  T* at(std::size_t offset) const noexcept {
    return reinterpret_cast<T*>(memory_ + offset);
  }
  std::int64_t groups() const noexcept { return (rows_ + kFmhaRows - 1) / kFmhaRows; }
  std::int64_t position(std::int64_t row) const noexcept { return (first_ + row) / g_.group; }
  std::int64_t head(std::int64_t row) const noexcept { return kv_head_ * g_.group + (first_ + row) % g_.group; }
  std::int64_t out_values() const noexcept { return g_.v_panels * kFmhaRows * g_.kernels->panel; }
  FmhaState& state(std::int64_t group) const noexcept { return at<FmhaState>(g_.state)[group]; }

  void begin() noexcept {
    for (std::int64_t i = 0; i < groups(); ++i) {
      const std::int64_t row = i * kFmhaRows;
      pack_fmha_rows(g_, run_.args, sequence_, kv_head_, first_ + row, std::min<std::int64_t>(kFmhaRows, rows_ - row),
                     at<void*>(g_.row), at<std::uint32_t>(g_.q) + i * g_.q_words);
      FmhaState& s = state(i);
      std::fill_n(s.most, kFmhaRows, -kInfinity);
      std::fill_n(s.sum, kFmhaRows * kFmhaLanes, 0.0F);
    }
    std::fill_n(at<float>(g_.out), groups() * out_values(), 0.0F);
  }

  std::int64_t columns(std::int64_t tile) const noexcept { return std::min(g_.n0, sequence_.length_k - tile * g_.n0); }

  /// Rows of whole panels and, as a hint may ask for them, up to n0.
  void find(std::int64_t tile, const unsigned char** k, const unsigned char** v) const noexcept {
    find_fmha_rows(g_, run_.args, sequence_, kv_head_, tile * g_.n0, columns(tile), k, v);
    std::fill(k + columns(tile), k + kFmhaMaxColumns, k[0]);
    std::fill(v + columns(tile), v + kFmhaMaxColumns, v[0]);
  }

  /// Where K and V of a tile are.
  void reach(std::int64_t tile, std::int64_t next, FmhaStep& s) noexcept {
    if (g_.in_place != nullptr) {
      // Rows of this tile were found as those of the next one, but for the first tile.
      const unsigned char** const rows = at<const unsigned char*>(g_.pointers);
      const unsigned char** const v_rows = rows + 2 * kFmhaMaxColumns;
      half_ = kFmhaMaxColumns - half_;
      if (found_ != tile) find(tile, rows + half_, v_rows + half_);
      s.next = kFmhaMaxColumns - 2 * half_;
      find(next, rows + half_ + s.next, v_rows + half_ + s.next);
      found_ = next;
      s.k_rows = rows + half_;
      s.v_rows = v_rows + half_;
      s.hdim_q = g_.shape.hdim_q;
      s.hdim_v = g_.shape.hdim_v;
      return;
    }
    unsigned char* packed = at<unsigned char>(g_.tile);
    if (g_.shared)
      packed = run_.tile(task_.pair, tile);
    else
      pack_fmha_tile(g_, run_.args, sequence_, kv_head_, tile, columns(tile), packed);
    s.k = packed;
    s.v = packed + g_.v_offset;
  }

  void attend(std::int64_t tile, std::int64_t next) noexcept {
    const std::int64_t column = tile * g_.n0, count = columns(tile);
    FmhaStep s{};
    reach(tile, next, s);
    options_.start_tile(kv_head_, column, count);
    s.words = g_.words;
    s.v_words = g_.v_words;
    s.v_panels = static_cast<std::int32_t>(g_.v_panels);
    s.exponent = options_.exponent();
    s.scores = at<float>(g_.scores);
    s.weights = at<void*>(g_.kind == PackKind::f32 ? g_.scores : g_.weights);
    alignas(64) float rescale[kFmhaLanes];
    s.rescale = rescale;
    for (std::int64_t i = 0; i < groups(); ++i) {
      s.bring = i == 0;
      attend(i, column, count, s);
    }
  }

  void attend(std::int64_t group, std::int64_t column, std::int64_t count, FmhaStep& s) noexcept {
    const std::int64_t row = group * kFmhaRows;
    s.rows = static_cast<std::int32_t>(std::min<std::int64_t>(kFmhaRows, rows_ - row));
    FmhaSpan spans[kFmhaRows];
    const bool hidden = see(row, column, count, s, spans);
    if (s.first >= s.last) return;
    s.q = at<std::uint32_t>(g_.q) + group * g_.q_words;
    s.most = state(group).most;
    s.sum = state(group).sum;
    s.out = at<float>(g_.out) + group * out_values();
    (g_.in_place != nullptr ? g_.in_place->scores : g_.kernels->scores)(s);
    if (options_.any()) {
      FmhaRowIds ids[kFmhaRows];
      for (std::int64_t r = 0; r < s.rows; ++r) ids[r] = {position(row + r), head(row + r)};
      options_.adjust(s, ids);
    }
    if (hidden) g_.kernels->hide(s, spans);
    g_.kernels->weights(s);
    (g_.in_place != nullptr ? g_.in_place->values : g_.kernels->values)(s);
  }

  /// Which columns of the tile the rows see, together and each; whether the panels hold others too.
  bool see(std::int64_t row, std::int64_t column, std::int64_t count, FmhaStep& s, FmhaSpan* spans) const noexcept {
    const std::int64_t panel = g_.kernels->panel, begin = position(row), end = position(row + s.rows - 1) + 1;
    s.first = 0;
    s.last = static_cast<std::int32_t>(count);
    if (mask_.all_see(begin, end, column, column + count)) {
      if (count % panel == 0) return false;
      std::fill_n(spans, s.rows, FmhaSpan{0, s.last, 0});
      return true;
    }
    std::int32_t least = s.last, most = 0;
    for (int r = 0; r < s.rows; ++r) {
      const FmhaColumns seen = mask_.row(position(row + r));
      const auto within = [&](std::int64_t j) {
        return static_cast<std::int32_t>(std::clamp<std::int64_t>(j - column, 0, count));
      };
      FmhaSpan& x = spans[r] = {within(seen.begin), within(seen.end), within(seen.sink_end)};
      if (x.first < x.last) least = std::min(least, x.first);
      if (x.sink > 0) least = 0;
      most = std::max({most, x.first < x.last ? x.last : 0, x.sink});
    }
    s.first = least;
    s.last = most;
    const std::int64_t first = least / panel * panel, last = (most + panel - 1) / panel * panel;
    for (int r = 0; r < s.rows; ++r)
      if (spans[r].last < last || (spans[r].first > first && spans[r].sink < spans[r].first)) return true;
    return false;
  }

  void gather(std::int64_t row, float* out) const noexcept {
    const std::int64_t panel = g_.kernels->panel;
    const float* from = at<float>(g_.out) + row / kFmhaRows * out_values() + row % kFmhaRows * panel;
    for (std::int64_t p = 0; p < g_.v_panels; ++p)
      std::memcpy(out + p * panel, from + p * kFmhaRows * panel, static_cast<std::size_t>(panel) * sizeof(float));
  }

  void finish(std::int64_t row) noexcept {
    const FmhaState& s = state(row / kFmhaRows);
    const float* const sums = s.sum + row % kFmhaRows * kFmhaLanes;
    float sum = 0.0F;
    for (int i = 0; i < kFmhaLanes; ++i) sum += sums[i];
    const float most = s.most[row % kFmhaRows];
    float* const out = at<float>(g_.row);
    gather(row, out);
    if (g_.splits == 1) {
      write_fmha_row(run_, sequence_, head(row), position(row), most, sum, out);
      return;
    }
    float* const part = run_.partial(task_.pair, first_ + row, task_.split);
    const std::int64_t hdim = g_.shape.hdim_v;
    std::copy_n(out, hdim, part);
    part[hdim] = most;
    part[hdim + 1] = sum;
  }

  void merge(std::int64_t row) noexcept {
    const std::int64_t hdim = g_.shape.hdim_v;
    float most = -kInfinity, sum = 0.0F;
    for (std::int64_t i = 0; i < g_.splits; ++i) most = std::max(most, run_.partial(task_.pair, first_ + row, i)[hdim]);
    float* const out = at<float>(g_.row);
    std::fill_n(out, hdim, 0.0F);
    for (std::int64_t i = 0; i < g_.splits; ++i) {
      const float* const part = run_.partial(task_.pair, first_ + row, i);
      if (part[hdim + 1] == 0.0F) continue;
      const float worth = std::exp2(part[hdim] - most);
      sum += part[hdim + 1] * worth;
      for (std::int64_t d = 0; d < hdim; ++d) out[d] += part[d] * worth;
    }
    write_fmha_row(run_, sequence_, head(row), position(row), most, sum, out);
  }

  const FmhaRun& run_;
  const FmhaGeometry& g_;
  const FmhaTask& task_;
  unsigned char* const memory_;
  const std::int64_t batch_, kv_head_;
  const FmhaSequence sequence_;
  const FmhaSequenceMask mask_;
  const std::int64_t first_, rows_;
  FmhaOptions options_;
  std::int64_t found_ = -1;  // the tile whose rows are in the half of the pointers that is next
  std::int32_t half_ = 0;    // where this tile's are
};

}  // namespace

void run_fmha_task(const FmhaRun& run, const FmhaTask& task, int slot) noexcept {
  TaskRun(run, task, slot).attend();
}

void merge_fmha_parts(const FmhaRun& run, const FmhaTask& task, int slot) noexcept {
  TaskRun(run, task, slot).merge();
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
