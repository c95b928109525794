// What can be wrong with a call's epilogue and with operands of two tensors.
#pragma once

#include "ckgen/gemm_types.hpp"
#include "ckgen/status.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {

/// unsupported: an op or type that the host computes no epilogue or operand of.
Status check_fused_traits(const GemmTraits& traits) noexcept;

/// invalid_argument: a missing D, A1 or B1, a leading dimension or batch stride of D that does not fit.
Status check_fused_args(const GemmTraits& traits, const GemmArgs& args) noexcept;

}  // namespace host
}  // namespace v1
}  // namespace ckgen
