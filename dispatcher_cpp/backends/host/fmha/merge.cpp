#include "backends/host/fmha/merge.hpp"

#include "backends/host/fmha/output.hpp"
#include "backends/host/fmha/sequence.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ckgen {
inline namespace v1 {
namespace host {
namespace {

/// Partial rows `first`, `first` + `stride`, .. of query `query` of `head`.
struct Parts {
  std::int64_t first, stride, splits;
  std::int64_t head, query;
};

void merge(const FmhaRun& run, const FmhaSequence& sequence, const Parts& x, int slot) noexcept {
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  const std::int64_t hdim = run.g.shape.hdim_v;
  float most = kNone, sum = 0.0F;
  for (std::int64_t i = 0; i < x.splits; ++i) most = std::max(most, *run.partial(x.first + i * x.stride).lse);
  float* const out = reinterpret_cast<float*>(run.slot(slot) + run.g.row);
  std::fill_n(out, hdim, 0.0F);
  for (std::int64_t i = 0; i < x.splits; ++i) {
    const FmhaPartial part = run.partial(x.first + i * x.stride);
    if (*part.lse == kNone) continue;
    const float worth = std::exp(*part.lse - most);
    sum += worth;
    for (std::int64_t d = 0; d < hdim; ++d) out[d] += part.o[d] * worth;
  }
  const float factor = sum == 0.0F ? 0.0F : 1.0F / sum;
  for (std::int64_t d = 0; d < hdim; ++d) out[d] *= factor;
  write_fmha_row(run, sequence, x.head, x.query, sum == 0.0F ? kNone : most + std::log(sum), out);
}

}  // namespace

void merge_fmha_row(const FmhaRun& run, std::int64_t pair, std::int64_t row, int slot) noexcept {
  const FmhaGeometry& g = run.g;
  const std::int64_t heads_k = g.shape.heads_k;
  const FmhaSequence sequence = sequence_of(g.signature, g.shape, run.args, pair / heads_k);
  if (row >= sequence.length_q * g.group) return;
  const std::int64_t first = run.partial_index(pair, row, 0);
  merge(run, sequence,
        {first, run.partial_index(pair, row, 1) - first, g.splits, pair % heads_k * g.group + row % g.group,
         row / g.group},
        slot);
}

void merge_fmha_item(const FmhaRun& run, const FmhaCombineItem& item, std::int64_t head, std::int64_t row,
                     int slot) noexcept {
  const FmhaGeometry& g = run.g;
  if (item.request < 0 || row >= item.rows) return;
  const FmhaSequence sequence = sequence_of(g.signature, g.shape, run.args, item.request);
  const std::int64_t group = g.merges_heads ? g.group : 1, of_tile = g.merges_heads ? g.m0 : g.m0 / g.group;
  const std::int64_t of_request = item.q_tile * of_tile + row;
  merge(run, sequence,
        {head * g.shape.split_rows + item.partial_row + row, item.rows, item.splits, head * group + of_request % group,
         of_request / group},
        slot);
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
