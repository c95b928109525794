// What a row of attention gives once all of its columns, or those of a split, were seen.
#pragma once

#include "backends/host/fmha/sequence.hpp"
#include "backends/host/fmha/task.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {

/// What becomes of a row whose sum of weights 2^(exponent - most) is known.
struct FmhaWhole {
  bool any;      // something is seen; else the row is zeros
  float factor;  // of the sum of weights times V
  float lse;     // 0 where nobody asks for it
};

/// with_sink: the sink counts where there is one.
FmhaWhole whole_fmha_row(const FmhaRun& run, std::int64_t head, float most, float sum, bool with_sink) noexcept;

/// Stores a row of O, and lse where it is asked for.
void write_fmha_row(const FmhaRun& run, const FmhaSequence& sequence, std::int64_t head, std::int64_t row, float lse,
                    const float* out) noexcept;

}  // namespace host
}  // namespace v1
}  // namespace ckgen
