#include "src/run/launch_stages.hpp"

#include "src/gpu/device_program.hpp"
#include "src/operation/operation.hpp"

namespace ckgen::inline v1::detail {

Status launch_kernel(const Stage& stage, const Launch& launch, const Device& device, const Resets& resets) noexcept {
  return stage.program != nullptr ? stage.program->launch(launch, device, resets) : stage.launch(launch);
}

Status launch_in_order(const Plan& plan, const RunArgs& args, void* workspace, Stream stream) noexcept {
  Resets resets;
  void* table = nullptr;
  for (std::uint32_t i = 0; i < plan.stage_count; ++i) {
    const Stage& stage = plan.stages[i];
    const auto at = [workspace](std::uint64_t offset) -> void* {
      return workspace == nullptr ? nullptr : static_cast<char*>(workspace) + offset;
    };
    if (stage.kind == StageKind::reset_output) {
      resets.output = true;
      continue;
    }
    if (stage.kind == StageKind::reset_workspace) {
      resets.workspace = at(stage.workspace_offset);
      resets.workspace_bytes = stage.reset_bytes;
      continue;
    }
    const bool uploads = stage.kind == StageKind::upload;
    if (uploads) table = at(stage.output_offset);
    const Launch one{stage.instance, &plan.problem,    stage.k_batch, args.gemm, at(stage.workspace_offset),
                     stream,         stage.workgroups, args.grouped,  args.moe,  table,
                     args.fmha};
    const bool behind = stage.kind == StageKind::add_slots || stage.kind == StageKind::combine;
    const Status status = uploads  ? stage.program->upload(one, plan.device)
                          : behind ? stage.program->launch(stage.kind, one, plan.device)
                                   : launch_kernel(stage, one, plan.device, resets);
    if (!status.ok()) return status;
    if (!uploads) resets = {};
  }
  return Status::success();
}

Status launch_stages(const Plan& plan, const RunArgs& args, void* workspace, Stream stream) noexcept {
  const auto launch = operation_of(plan.problem.signature().op).running.launch;
  return (launch != nullptr ? launch : launch_in_order)(plan, args, workspace, stream);
}

}  // namespace ckgen::inline v1::detail
