// What can be wrong with a problem of attention's backward: its instance, its sizes, its arguments.
#pragma once

#include "ckgen/instance.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {

/// unsupported: types, options, tile, ISA; invalid_argument: sizes.
Status check_fmha_backward(const InstanceDesc& instance, const FmhaShape& shape) noexcept;
/// As check_fmha_args, and what only backward has.
Status check_fmha_backward_args(const Signature& signature, const FmhaShape& shape, const FmhaArgs& args) noexcept;

}  // namespace host
}  // namespace v1
}  // namespace ckgen
