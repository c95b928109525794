// What can be wrong with a problem that appends to a cache: its instance, its arguments.
#pragma once

#include "ckgen/instance.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {

/// unsupported: types, options, ISA; invalid_argument: sizes.
Status check_fmha_append(const InstanceDesc& instance, const FmhaShape& shape) noexcept;
/// Pointers, strides, lengths, pages: all new rows have a place in the cache. Of a legal instance and shape.
Status check_fmha_append_args(const Signature& signature, const FmhaShape& shape, const FmhaArgs& args) noexcept;

}  // namespace host
}  // namespace v1
}  // namespace ckgen
