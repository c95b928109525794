// Append on the CPU, entry append of op fmha: formulas, sizes and arguments are those of ckgen/fmha.hpp.
//
// Rotation is fp32 without fusing, and each element is rounded once. Results do not depend on the number of threads nor
// on the ISA. Nothing but the new rows of the cache and the rows of O is written.
#pragma once

#include "ckgen/instance.hpp"

namespace ckgen {
inline namespace v1 {
namespace host {

/// As fmha(), of an instance whose signature appends; it needs no workspace.
Status fmha_append(const Launch& launch) noexcept;

}  // namespace host
}  // namespace v1
}  // namespace ckgen
