// Packed tiles that the tasks of a pair share. The threads that come to use them pack them, together: what a thread
// needs first is then in its caches.
#pragma once

#include "backends/host/fmha/task.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {

/// Of `pairs` pairs from run.first_block on, nothing is packed yet.
void clear_fmha_tiles(const FmhaRun& run, std::int64_t pairs) noexcept;

/// Returns when all tiles of the pair that some row sees are packed.
void need_fmha_tiles(const FmhaRun& run, std::int64_t pair) noexcept;

}  // namespace host
}  // namespace v1
}  // namespace ckgen
