// The gradient of a bias of elements, and what it is summed over.
#pragma once

#include "backends/host/fmha/backward_tile.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {

/// Writes dbias where a sequence has a row and a column. delta() is known.
void write_fmha_dbias(const FmhaBackwardRun& run, int threads) noexcept;

}  // namespace host
}  // namespace v1
}  // namespace ckgen
