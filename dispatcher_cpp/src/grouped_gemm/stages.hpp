#pragma once

#include <ckgen/plan.hpp>

namespace ckgen::inline v1::detail {

struct RegistryState;

/// fill_stages() with the table of groups, where attached GPU code reads one.
Status fill_grouped_stages(const RegistryState& state, const Problem& asked, const Stage& kernel, Plan& plan) noexcept;

}  // namespace ckgen::inline v1::detail
