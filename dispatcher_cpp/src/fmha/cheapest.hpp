// The default of least cost that takes an attention problem: as each would say, but most are not asked.
#pragma once

#include "src/operation/operation.hpp"

namespace ckgen::inline v1::detail {

/// What most problems decide by whether an instance takes them, and what its cost is no less than.
DefaultNote fmha_note(const InstanceDesc& instance) noexcept;

/// Selecting::cheapest. Those are left out whose notes refuse the problem; then those that cost more than the default
/// of least bound, whatever their splits.
DefaultFound cheapest_fmha(const Request& q, const Entry& entry, const Sizes& of) noexcept;

}  // namespace ckgen::inline v1::detail
