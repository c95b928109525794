#include "src/run/launch_stages.hpp"

#include "src/gpu/device_program.hpp"
#include "src/operation/operation.hpp"

namespace ckgen::inline v1::detail {

Status launch_kernel(const Stage& stage, const Launch& launch, const Device& device, const Resets& resets) noexcept {
  return stage.program != nullptr ? stage.program->launch(launch, device, resets) : stage.launch(launch);
}

Status launch_in_order(const Plan& plan, const RunArgs& args, void* workspace, Stream stream) noexcept {
  const Running& running = operation_of(plan.problem.signature().op).running;
  const auto at = [workspace](std::uint64_t offset) -> void* {
    return workspace == nullptr ? nullptr : static_cast<char*>(workspace) + offset;
  };
  Launch launch{};
  launch.problem = &plan.problem;
  launch.stream = stream;
  running.give(args, launch);
  Resets resets;
  for (std::uint32_t i = 0; i < plan.stage_count; ++i) {
    const Stage& stage = plan.stages[i];
    if (stage.kind == StageKind::reset_output) {
      resets.output = running.clear != nullptr ? running.clear : clear_output;
      continue;
    }
    if (stage.kind == StageKind::reset_workspace) {
      resets.workspace = at(stage.workspace_offset);
      resets.workspace_bytes = stage.reset_bytes;
      continue;
    }
    launch.instance = stage.instance;
    launch.k_batch = stage.k_batch;
    launch.workspace = at(stage.workspace_offset);
    launch.workgroups = stage.workgroups;
    const bool is_own = stage.kind == StageKind::own;
    const Status status = is_own ? running.launch_own(stage, plan.device, at(stage.output_offset), launch)
                                 : launch_kernel(stage, launch, plan.device, resets);
    if (!status.ok()) return status;
    if (!is_own) resets = {};
  }
  return Status::success();
}

Status launch_stages(const Plan& plan, const RunArgs& args, void* workspace, Stream stream) noexcept {
  const auto launch = operation_of(plan.problem.signature().op).running.launch;
  return (launch != nullptr ? launch : launch_in_order)(plan, args, workspace, stream);
}

}  // namespace ckgen::inline v1::detail
