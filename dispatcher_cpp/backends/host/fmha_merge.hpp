// Splits of KV made whole: fixed order, so results do not depend on who computed which part.
#pragma once

#include "backends/host/fmha_task.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {

/// O and lse of row `row` of a pair, whatever its sequence's length, from the parts of all splits. Thread-safe for
/// different slots.
void merge_fmha_row(const FmhaRun& run, std::int64_t pair, std::int64_t row, int slot) noexcept;

}  // namespace host
}  // namespace v1
}  // namespace ckgen
