// The stages of a plan: which kernels, which memory before them, and how much workspace.
#pragma once

#include <ckgen/plan.hpp>

#include "src/plan/slices.hpp"

namespace ckgen::inline v1::detail {

/// The one kernel of an instance. Real GPUs take the attached code or the device launcher; everywhere else the host
/// kernel of the same contract runs.
Stage kernel_stage(const InstanceDesc& instance, const DeviceProgram* program, std::uint32_t k_batch,
                   const Device& device) noexcept;
Stage stage_of(const Stage& kernel, StageKind kind) noexcept;
/// A stage of the operation's own that the kernel's GPU code has.
template <class Own>
Stage own_stage(const Stage& kernel, Own own) noexcept {
  Stage stage = stage_of(kernel, StageKind::own);
  stage.own = static_cast<std::uint8_t>(own);
  return stage;
}

/// `bytes` of the workspace that `kernel` has, `offset` bytes into it, are zeroed before it.
Stage workspace_reset(const Stage& kernel, std::uint64_t offset, std::uint64_t bytes) noexcept;

/// Ok, or that the instance of a `kernel` stage has nothing for the device.
Status launchable(const Stage& kernel, const Device& device) noexcept;

/// Bytes that the stage's kernel asks for itself.
std::uint64_t workspace_of(const Stage& kernel, const Problem& problem, const Device& device) noexcept;

/// Whether a kernel of attached GPU code may add to C, so that its plan resets it.
bool resets_output(const Stage& kernel) noexcept;

void add(Plan& plan, const Stage& stage) noexcept;

/// The kernel with its slice of the workspace, what is zeroed before it, and the stage that reads its results behind
/// it.
void add_kernel(const Stage& kernel, const Problem& problem, Slices& room, Plan& plan) noexcept;

/// Sets the workspace of a plan whose stages are all there. Not ok where 64 bits cannot count it.
Status with_workspace(const Slices& room, Plan& plan) noexcept;

/// Stages, workspace and launchability of plan.problem on plan.device by one instance. Not ok where 64 bits cannot
/// count the workspace.
Status fill_stages(const Stage& kernel, Plan& plan) noexcept;

}  // namespace ckgen::inline v1::detail
