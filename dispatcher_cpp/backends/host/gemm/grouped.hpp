// Grouped GEMM on the CPU: many products of one signature in one launch.
//
// The parts of all results are one list, those of the largest products first, that the threads work off: no thread
// waits for another group. Formulas, layouts and scales: ckgen/gemm_types.hpp, for each group as for a GEMM of its
// own, and the same bits. Thread-safe and re-entrant; nothing is allocated beyond the caller's workspace.
#pragma once

#include "backends/host/gemm/gemm.hpp"
#include "ckgen/grouped.hpp"

#include <cstddef>
#include <cstdint>

namespace ckgen {
inline namespace v1 {
namespace host {

/// Bytes of workspace for these groups, or, where their sizes are on the device, for any that they may be; 0 where they
/// cannot run or have nothing to do. run_* needs them aligned to 16 bytes; 64 is faster.
std::size_t grouped_twin_workspace(const GemmTraits& traits, const TwinConfig& config, std::int64_t k_batch,
                                   const Groups& groups) noexcept;
std::size_t grouped_host_workspace(const GemmTraits& traits, const HostConfig& config, const Groups& groups) noexcept;

/// As run_gemm_*, the message naming the group; no result is written where any group is refused.
Status run_grouped_twin(const GemmTraits& traits, const TwinConfig& config, std::int64_t k_batch,
                        const GroupedArgs& args, void* workspace, RowOrder rows = RowOrder::any) noexcept;
Status run_grouped_host(const GemmTraits& traits, const HostConfig& config, const GroupedArgs& args, void* workspace,
                        RowOrder rows = RowOrder::any) noexcept;

}  // namespace host
}  // namespace v1
}  // namespace ckgen
