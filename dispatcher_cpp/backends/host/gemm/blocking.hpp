// How a Config cuts the work: the register tiles, blocks and splits of a twin or of an instance of the CPU's own.
#pragma once

#include "backends/host/gemm/driver.hpp"

#include <cstdint>

namespace ckgen {
inline namespace v1 {
namespace host {

/// The kernels of a level; null for one that is not in this build.
const IsaTable* table_for(Isa isa) noexcept;
/// What a host instance packs its operands as: bf16 where that is exact and the level has kernels for it, int8 as it
/// is or widened, as the level's kernels take it.
PackKind host_kind(const GemmTraits& traits, const IsaTable& isa) noexcept;

/// Whether the order of sums makes no difference.
constexpr bool is_exact(const GemmTraits& traits) noexcept {
  return traits.a == DType::int8;
}

/// Precondition: the traits and the Config are supported (gemm_twin_supports, gemm_host_supports).
Blocking twin_blocking(const GemmTraits& traits, const TwinConfig& config, std::int64_t k_batch,
                       std::int64_t k) noexcept;
Blocking host_blocking(const GemmTraits& traits, const HostConfig& config, std::int64_t k) noexcept;

}  // namespace host
}  // namespace v1
}  // namespace ckgen
