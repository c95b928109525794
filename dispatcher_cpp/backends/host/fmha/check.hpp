// What can be wrong with a problem of op fmha: its instance, its sizes, its arguments.
#pragma once

#include "backends/host/gemm/gemm.hpp"
#include "backends/host/isa/table.hpp"
#include "ckgen/instance.hpp"

#include <cstdint>
#include <limits>

namespace ckgen {
inline namespace v1 {
namespace host {

/// Tokens, rows and pages are counted in 32 bits.
inline constexpr std::int64_t kMaxLength = std::numeric_limits<std::int32_t>::max();

/// The ISA that an instance runs at: a host instance's own, or the best there is.
Isa fmha_isa(const InstanceDesc& instance) noexcept;
/// What its operands are packed as: bf16 where both are exact as such and the level has kernels for it.
PackKind fmha_kind(const Signature& signature, Isa isa) noexcept;

/// Threads of an instance: its own number, of those that there are.
int fmha_threads(const InstanceDesc& instance) noexcept;

/// unsupported: a tile of more rows than `most_rows` or columns than there are kernels for.
Status check_fmha_tile(const FmhaConfig& tile, std::int32_t most_rows) noexcept;
/// invalid_argument: sizes; unsupported: pages of no whole vectors.
Status check_fmha_shape(const Signature& signature, const FmhaShape& shape) noexcept;
/// unsupported: types, options, tile, ISA; invalid_argument: sizes.
Status check_fmha(const InstanceDesc& instance, const FmhaShape& shape) noexcept;
/// Pointers, strides, lengths within the shape, scales and probabilities; of a legal instance and shape.
Status check_fmha_args(const Signature& signature, const FmhaShape& shape, const FmhaArgs& args) noexcept;

}  // namespace host
}  // namespace v1
}  // namespace ckgen
