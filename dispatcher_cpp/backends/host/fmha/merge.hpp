// Splits of KV made whole: fixed order, so results do not depend on who computed which part.
#pragma once

#include "backends/host/fmha/task.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {

/// O and lse of row `row` of a pair, whatever its sequence's length, from the parts of equal splits: as
/// backends/hip/fmha_combine.hpp, in the order of splits. Thread-safe for different slots.
void merge_fmha_row(const FmhaRun& run, std::int64_t pair, std::int64_t row, int slot) noexcept;

/// The same of row `row` of a schedule's item, for the head-th of the heads that its partial rows are numbered for.
void merge_fmha_item(const FmhaRun& run, const FmhaCombineItem& item, std::int64_t head, std::int64_t row,
                     int slot) noexcept;

}  // namespace host
}  // namespace v1
}  // namespace ckgen
