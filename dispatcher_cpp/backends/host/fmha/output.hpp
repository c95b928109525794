// What a row of attention gives once all of its columns, or those of a split, were seen.
#pragma once

#include "backends/host/fmha/sequence.hpp"
#include "backends/host/fmha/task.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {

/// `out`, of hdim_v values, is the sum of weights 2^(exponent - most) times V, and becomes the row of O; `sum` is that
/// of the weights. with_sink: the sink counts where there is one. Returns lse.
float whole_fmha_row(const FmhaRun& run, std::int64_t head, float most, float sum, bool with_sink, float* out) noexcept;

/// Stores a row of O, and lse where it is asked for.
void write_fmha_row(const FmhaRun& run, const FmhaSequence& sequence, std::int64_t head, std::int64_t row, float lse,
                    const float* out) noexcept;

}  // namespace host
}  // namespace v1
}  // namespace ckgen
