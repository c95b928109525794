// A mixture-of-experts layer and its parts on the CPU. Formulas and sizes: ckgen/moe.hpp, those of the products:
// ckgen/gemm_types.hpp.
//
// H is rounded to the result's type, as the rows that gate_up writes are; a layer then brings it to A's type: with
// A's scheme of scales where A has scales, else by conversion. Its scales are dynamic (see moe/quantize.hpp), for
// per_tensor one of all of H. down adds the slots of a token in fp32 in the order of the slots and rounds once.
// Each expert's weights are unpacked once for each 1024 of its rows, whatever the number of threads, and not at all for
// few rows (gemm/small_m.hpp); results do not depend on the number of threads. Thread-safe and re-entrant; nothing is
// allocated beyond the caller's workspace.
#pragma once

#include "backends/host/gemm/gemm.hpp"
#include "ckgen/moe.hpp"

#include <cstddef>
#include <cstdint>

namespace ckgen {
inline namespace v1 {
namespace host {

/// A problem of op moe: N and K of the part, or of gate_up where it is a layer.
struct MoeShape {
  std::int64_t tokens, n, k;
  Routing routing;
  std::int64_t block_m;  // of SortedTokens; unread where a layer gets topk_ids
};

/// Bytes of workspace for any routing; 0 where the arguments cannot run or there is nothing to do. run_* needs them
/// aligned to 16 bytes; 64 is faster.
std::size_t moe_twin_workspace(const GemmTraits& traits, const MoeTraits& moe, const TwinConfig& config,
                               const MoeShape& shape) noexcept;
std::size_t moe_host_workspace(const GemmTraits& traits, const MoeTraits& moe, const HostConfig& config,
                               const MoeShape& shape) noexcept;

/// unsupported: traits, padding or ISA, an int8 H without scales; invalid_argument: sizes, pointers, an id that is not
/// an expert, a sorted form that is not one. Nothing is written then.
Status run_moe_twin(const GemmTraits& traits, const MoeTraits& moe, const TwinConfig& config, const MoeShape& shape,
                    const MoeArgs& args, void* workspace, RowOrder rows = RowOrder::any) noexcept;
Status run_moe_host(const GemmTraits& traits, const MoeTraits& moe, const HostConfig& config, const MoeShape& shape,
                    const MoeArgs& args, void* workspace, RowOrder rows = RowOrder::any) noexcept;

}  // namespace host
}  // namespace v1
}  // namespace ckgen
