#include "backends/host/fmha/rows.hpp"

#include "backends/host/fmha/output.hpp"
#include "backends/host/fmha/pack.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace ckgen {
inline namespace v1 {
namespace host {

namespace {

float sum_of(const float* lanes) noexcept {
  static_assert(kFmhaLanes == 16);
  float sums[4];
  for (int i = 0; i < 4; ++i) sums[i] = (lanes[i] + lanes[4 + i]) + (lanes[8 + i] + lanes[12 + i]);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

}  // namespace

FmhaRows::FmhaRows(const FmhaRun& run, const FmhaTask& task, int slot) noexcept
    : run_(run),
      g_(run.g),
      task_(task),
      memory_(run.slot(slot)),
      batch_(task.batch),
      first_head_(task.head_block * run.g.heads),
      heads_(std::min<std::int64_t>(run.g.heads, run.g.shape.heads_k - first_head_)),
      sequence_(sequence_of(run.g.signature, run.g.shape, run.args, batch_)),
      mask_(run.g.shape, run.g.signature.fmha.masked, sequence_.length_q, sequence_.length_k),
      first_(task.row_tile * run.g.m0),
      rows_(std::min(run.g.m0, sequence_.length_q * run.g.group - first_)),
      part_(part()),
      // Words of two columns lie in one page.
      origin_(sequence_.pages == nullptr ? part_.begin : part_.begin - part_.begin % 2),
      options_(run, sequence_, batch_, memory_) {}

FmhaPart FmhaRows::part() const noexcept {
  if (rows_ <= 0) return {0, 0};
  if (task_.item != nullptr)
    return {task_.item->kv_begin, std::min<std::int64_t>(task_.item->kv_end, sequence_.length_k)};
  return fmha_part(g_, mask_.rows(position(0), position(rows_ - 1) + 1), sequence_.length_k, task_.split);
}

FmhaTiles FmhaRows::tiles() const noexcept {
  FmhaColumns seen = mask_.rows(position(0), position(rows_ - 1) + 1);
  seen.begin = std::max(seen.begin, part_.begin) - origin_;
  seen.end = std::min(seen.end, part_.end) - origin_;
  seen.sink_end = std::max<std::int64_t>(std::min(seen.sink_end, part_.end) - origin_, 0);
  return {seen, g_.tile_columns};
}

FmhaTileColumns FmhaRows::columns(std::int64_t tile) const noexcept {
  const std::int64_t first = origin_ + tile * g_.tile_columns;
  return {first, std::min(g_.tile_columns, part_.end - first)};
}

void FmhaRows::begin() noexcept {
  for (std::int64_t h = 0; h < heads_; ++h)
    for (std::int64_t i = 0; i < groups(); ++i) {
      const std::int64_t row = i * kFmhaRows;
      pack_fmha_rows(g_, run_.args, sequence_, kv_head(h), first_ + row, std::min<std::int64_t>(kFmhaRows, rows_ - row),
                     at<void*>(g_.row), own<std::uint32_t>(h, g_.q) + i * g_.q_words);
      FmhaState& s = state(h, i);
      std::fill_n(s.most, kFmhaRows, -std::numeric_limits<float>::infinity());
      std::fill_n(s.sum, kFmhaRows * kFmhaLanes, 0.0F);
      std::fill_n(out(h, i), g_.v_panels * kFmhaRows * g_.kernels->panel, 0.0F);
    }
}

void FmhaRows::see(std::int64_t group, const FmhaTileColumns& tile, Seen& x) const noexcept {
  const std::int64_t row = group * kFmhaRows, panel = g_.kernels->panel, column = tile.first, count = tile.count;
  x.rows = static_cast<std::int32_t>(std::min<std::int64_t>(kFmhaRows, rows_ - row));
  x.first = 0;
  x.last = static_cast<std::int32_t>(count);
  x.hidden = false;
  const bool whole = column >= part_.begin;
  if (whole && mask_.all_see(position(row), position(row + x.rows - 1) + 1, column, column + count)) {
    if (count % panel == 0) return;
    x.hidden = true;
    std::fill_n(x.spans, x.rows, FmhaSpan{0, x.last, 0});
    return;
  }
  std::int32_t least = x.last, most = 0;
  for (int r = 0; r < x.rows; ++r) {
    const FmhaColumns seen = mask_.row(position(row + r));
    const auto within = [&](std::int64_t j) {
      return static_cast<std::int32_t>(std::clamp<std::int64_t>(j - column, 0, count));
    };
    FmhaSpan& span = x.spans[r] = {within(std::max(seen.begin, part_.begin)), within(seen.end), within(seen.sink_end)};
    if (span.first < span.last) least = std::min(least, span.first);
    if (span.sink > 0) least = 0;
    most = std::max({most, span.first < span.last ? span.last : 0, span.sink});
  }
  x.first = least;
  x.last = std::max(least, most);
  const std::int64_t first = least / panel * panel, last = (most + panel - 1) / panel * panel;
  for (int r = 0; r < x.rows; ++r) {
    const FmhaSpan& span = x.spans[r];
    if (span.last < last || (span.first > first && span.sink < span.first)) x.hidden = true;
  }
}

FmhaStep FmhaRows::step(std::int64_t head, std::int64_t group, std::int64_t place, const Seen& seen,
                        float* rescale) const noexcept {
  FmhaStep s{};
  s.q = own<std::uint32_t>(head, g_.q) + group * g_.q_words;
  s.words = g_.words;
  s.v_words = g_.v_words;
  s.v_panels = static_cast<std::int32_t>(g_.v_panels);
  s.rows = seen.rows;
  s.first = seen.first;
  s.last = seen.last;
  s.exponent = options_.exponent();
  const std::int64_t first = place * kFmhaRows * kFmhaStride;
  s.scores = at<float>(g_.scores) + first;
  s.weights = g_.kind == PackKind::f32 ? s.scores : at<float>(g_.weights) + first / elements_per_word(g_.kind);
  s.most = state(head, group).most;
  s.sum = state(head, group).sum;
  s.rescale = rescale;
  s.out = out(head, group);
  s.hdim_q = g_.shape.hdim_q;
  s.hdim_v = g_.shape.hdim_v;
  s.table16 = g_.table16;
  return s;
}

void FmhaRows::weigh(std::int64_t head, std::int64_t group, const FmhaTileColumns& tile, const Seen& seen,
                     FmhaStep& s) noexcept {
  if (options_.any()) {
    FmhaRowIds ids[kFmhaRows];
    for (std::int64_t r = 0; r < s.rows; ++r)
      ids[r] = {position(group * kFmhaRows + r), q_head(head, group * kFmhaRows + r)};
    options_.start_tile(kv_head(head), tile.first, tile.count);
    options_.adjust(s, ids);
  }
  if (seen.hidden) g_.kernels->hide(s, seen.spans);
  g_.kernels->weights(s);
}

void FmhaRows::finish() noexcept {
  for (std::int64_t h = 0; h < heads_; ++h)
    for (std::int64_t r = 0; r < rows_; ++r) finish(h, r);
}

void FmhaRows::finish(std::int64_t head, std::int64_t row) noexcept {
  const std::int64_t hdim = g_.shape.hdim_v, r = row % kFmhaRows;
  const FmhaState& s = state(head, row / kFmhaRows);
  const float sum = sum_of(s.sum + r * kFmhaLanes);
  const bool is_all = task_.item != nullptr ? task_.item->partial_row < 0 : g_.splits == 1;
  const std::int64_t q = q_head(head, row);
  const FmhaWhole whole = whole_fmha_row(run_, q, s.most[r], sum, is_all || task_.split == 0);
  float* const values = at<float>(g_.row);
  if (whole.any)
    g_.kernels->scale(out(head, row / kFmhaRows) + r * g_.kernels->panel, g_.v_panels, whole.factor, values);
  else
    std::fill_n(values, hdim, 0.0F);
  if (is_all) return write_fmha_row(run_, sequence_, q, position(row), whole.lse, values);
  const FmhaPartial to = partial(head, row);
  *to.lse = whole.lse;
  std::copy_n(values, hdim, to.o);
}

FmhaPartial FmhaRows::partial(std::int64_t head, std::int64_t row) const noexcept {
  if (task_.item == nullptr)
    return run_.partial(run_.partial_index(batch_ * g_.shape.heads_k + kv_head(head), first_ + row, task_.split));
  const std::int64_t of_head = g_.merges_heads ? kv_head(head) : q_head(head, row);
  return run_.partial(of_head * g_.shape.split_rows + task_.item->partial_row +
                      (g_.merges_heads ? row : row / g_.group));
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
