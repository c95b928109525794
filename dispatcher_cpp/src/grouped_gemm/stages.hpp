#pragma once

#include <ckgen/plan.hpp>

#include "src/gpu/runtime.hpp"

namespace ckgen::inline v1::detail {

struct RegistryState;

/// fill_stages() with the table of groups, where attached GPU code reads one.
Status fill_grouped_stages(const RegistryState& state, const Problem& asked, const Stage& kernel, Plan& plan) noexcept;

/// C of every group that has one.
Status clear_groups(const GpuRuntime& runtime, const KernelCall& call, const Launch& launch) noexcept;

/// Makes the table of groups at `table`, see GroupTableCode, and points the launch at it.
Status upload_groups(const Stage& upload, const Device& device, void* table, Launch& launch) noexcept;

}  // namespace ckgen::inline v1::detail
