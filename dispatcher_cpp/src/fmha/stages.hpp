// The stages of an attention plan beside its kernel.
#pragma once

#include <ckgen/plan.hpp>

namespace ckgen::inline v1::detail {

struct RegistryState;

/// fill_stages() of attention: on attached GPU code backward has kernels of its own around the instance's.
Status fill_fmha_stages(const RegistryState& state, const Problem& asked, const Stage& kernel, Plan& plan) noexcept;

/// Launches a stage of the operation's own.
Status launch_fmha_stage(const Stage& stage, const Device& device, void* output, Launch& launch) noexcept;

}  // namespace ckgen::inline v1::detail
