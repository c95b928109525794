// What a row of attention gives once all of its columns were seen.
#pragma once

#include "backends/host/fmha_sequence.hpp"
#include "backends/host/fmha_task.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {

/// `out`, of hdim_v values that it may change, is the sum of weights 2^(exponent - most) times V; `sum` that of them.
void write_fmha_row(const FmhaRun& run, const FmhaSequence& sequence, std::int64_t head, std::int64_t row, float most,
                    float sum, float* out) noexcept;

}  // namespace host
}  // namespace v1
}  // namespace ckgen
