// Few rows of attention against K and V where they are: memory is read once, in the order of its addresses.
#pragma once

#include "backends/host/fmha/task.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {

/// As run_fmha_task, of a geometry with `in_place`.
void stream_fmha_task(const FmhaRun& run, const FmhaTask& task, int slot) noexcept;

}  // namespace host
}  // namespace v1
}  // namespace ckgen
