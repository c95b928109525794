#include "backends/host/fmha_merge.hpp"

#include "backends/host/fmha_output.hpp"
#include "backends/host/fmha_sequence.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ckgen {
inline namespace v1 {
namespace host {

void merge_fmha_row(const FmhaRun& run, std::int64_t pair, std::int64_t row, int slot) noexcept {
  const FmhaGeometry& g = run.g;
  const std::int64_t heads_k = g.shape.heads_k, hdim = g.shape.hdim_v;
  const FmhaSequence sequence = sequence_of(g.signature, g.shape, run.args, pair / heads_k);
  if (row >= sequence.length_q * g.group) return;
  float most = -std::numeric_limits<float>::infinity(), sum = 0.0F;
  for (std::int64_t i = 0; i < g.splits; ++i) most = std::max(most, run.partial(pair, row, i)[hdim]);
  float* const out = reinterpret_cast<float*>(run.slot(slot) + g.row);
  std::fill_n(out, hdim, 0.0F);
  for (std::int64_t i = 0; i < g.splits; ++i) {
    const float* const part = run.partial(pair, row, i);
    if (part[hdim + 1] == 0.0F) continue;
    const float worth = std::exp2(part[hdim] - most);
    sum += part[hdim + 1] * worth;
    for (std::int64_t d = 0; d < hdim; ++d) out[d] += part[d] * worth;
  }
  write_fmha_row(run, sequence, pair % heads_k * g.group + row % g.group, row / g.group, most, sum, out);
}

}  // namespace host
}  // namespace v1
}  // namespace ckgen
