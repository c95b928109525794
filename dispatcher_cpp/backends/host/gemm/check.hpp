// What can be wrong with a GEMM: its traits, its Config, its sizes, its operands.
#pragma once

#include "backends/host/gemm/gemm.hpp"

#include <cstdint>

namespace ckgen {
inline namespace v1 {
namespace host {

bool is_fp8(DType type) noexcept;

/// unsupported: dtypes, quantization, layout; invalid_argument: a value out of its enum.
Status check_traits(const GemmTraits& traits) noexcept;
/// Of the Config alone: tiles and blocks within what the kernels count in 32 bits.
Status check_config(const TwinConfig& config) noexcept;
Status check_config(const HostConfig& config) noexcept;
/// gemm_twin_supports(), and whether the twin splits K so.
Status check_twin(const GemmTraits& traits, const TwinConfig& config, std::int64_t k_batch) noexcept;
Status check_sizes(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch) noexcept;
/// Operands, scales and leading dimensions of sizes above zero; `k` may be 0.
Status check_args(const GemmTraits& traits, const GemmArgs& args) noexcept;
/// Whether `b` is a packed B of these sizes. Precondition: args.b_prepacked.
Status check_prepacked(const GemmTraits& traits, const GemmArgs& args) noexcept;
/// unsupported: a size that the twin's instance would have to pad and does not.
Status check_padding(const GemmTraits& traits, const TwinConfig& config, std::int64_t k_batch,
                     const GemmArgs& args) noexcept;
Status check_workspace(const void* workspace) noexcept;

}  // namespace host
}  // namespace v1
}  // namespace ckgen
