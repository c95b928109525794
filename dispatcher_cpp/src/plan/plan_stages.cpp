#include "src/plan/plan_stages.hpp"

#include "src/gemm/strategy.hpp"
#include "src/gpu/device_program.hpp"
#include "src/operation/operation.hpp"

namespace ckgen::inline v1::detail {
namespace {

/// What a stream-K kernel needs zeroed before it.
void add_stream_k_reset(const Stage& kernel, Plan& plan) noexcept {
  const InstanceDesc& instance = *kernel.instance;
  const StreamKPartition partition = partition_of(instance, plan.problem, kernel.workgroups);
  if (partition.sk_tiles == 0) return;
  if (instance.stream_k.strategy == Strategy::atomic) return add(plan, stage_of(kernel, StageKind::reset_output));
  const StreamKWorkspace room = stream_k_workspace(instance, partition);
  add(plan, workspace_reset(kernel, static_cast<std::uint64_t>(room.flags_offset),
                            static_cast<std::uint64_t>(room.flags_bytes)));
}

/// Of a kernel of attached GPU code.
Leftover leftover_of(const Stage& kernel) noexcept {
  const auto of = operation_of(kernel.instance->signature.op).running.leftover;
  return of != nullptr && kernel.program != nullptr ? of(kernel.program->code()) : Leftover{};
}

}  // namespace

void add(Plan& plan, const Stage& stage) noexcept {
  plan.stages[plan.stage_count++] = stage;
}

Stage kernel_stage(const InstanceDesc& instance, const DeviceProgram* program, std::uint32_t k_batch,
                   const Device& device) noexcept {
  const bool gpu = device.kind() == DeviceKind::gpu;
  Stage stage{&instance, k_batch, gpu ? instance.device : instance.twin, 0, gpu ? program : nullptr};
  stage.workgroups = stream_k_workgroups(instance, device.cu_num());
  return stage;
}

Stage stage_of(const Stage& kernel, StageKind kind) noexcept {
  Stage stage = kernel;
  stage.kind = kind;
  return stage;
}

Stage workspace_reset(const Stage& kernel, std::uint64_t offset, std::uint64_t bytes) noexcept {
  Stage stage = stage_of(kernel, StageKind::reset_workspace);
  stage.workspace_offset += offset;
  stage.reset_bytes = bytes;
  return stage;
}

Status launchable(const Stage& stage, const Device& device) noexcept {
  const InstanceDesc& instance = *stage.instance;
  if (stage.program != nullptr) return stage.program->built_for(device.arch(), instance);
  if (stage.launch != nullptr) return Status::success();
  return Status::error(StatusCode::unsupported, "%s has no %s: it cannot run on %s", instance.name,
                       device.kind() == DeviceKind::gpu ? "device launcher" : "host twin", device.gfx());
}

std::uint64_t workspace_of(const Stage& stage, const Problem& problem, const Device& device) noexcept {
  const InstanceDesc& instance = *stage.instance;
  if (stage.program != nullptr && stage.workgroups != 0)
    return static_cast<std::uint64_t>(
        stream_k_workspace(instance, partition_of(instance, problem, stage.workgroups)).total());
  if (stage.program != nullptr) {
    const DeviceWorkspaceFn left = leftover_of(stage).bytes;
    const DeviceWorkspaceFn bytes = left != nullptr ? left : stage.program->code().workspace;
    return bytes != nullptr ? bytes(instance, problem, stage.k_batch, device.arch(), device.cu_num()) : 0;
  }
  return instance.workspace != nullptr ? instance.workspace(instance, problem, stage.k_batch, stage.workgroups) : 0;
}

bool resets_output(const Stage& kernel) noexcept {
  return kernel.program != nullptr && operation_of(kernel.instance->signature.op).running.resets_output(kernel);
}

void add_kernel(const Stage& kernel, const Problem& problem, Slices& room, Plan& plan) noexcept {
  const std::uint64_t own = workspace_of(kernel, problem, plan.device);
  Stage stage = kernel;
  stage.workspace_offset = room.take(own);
  const Leftover left = leftover_of(kernel);
  if (kernel.program != nullptr && kernel.workgroups != 0)
    add_stream_k_reset(stage, plan);
  else if (left.starts_zero)
    add(plan, workspace_reset(stage, 0, own));
  else if (resets_output(kernel))
    add(plan, stage_of(stage, StageKind::reset_output));
  add(plan, stage);
  if (left.bytes != nullptr && own != 0) add(plan, own_stage(stage, left.stage));
}

Status with_workspace(const Slices& room, Plan& plan) noexcept {
  plan.workspace_size = room.total();
  if (room.fits()) return Status::success();
  return Status::error(StatusCode::invalid_argument, "the workspace has more bytes than 64-bit integers count");
}

Status fill_stages(const Stage& kernel, Plan& plan) noexcept {
  plan.launchable = launchable(kernel, plan.device);
  Slices room;
  add_kernel(kernel, plan.problem, room, plan);
  return with_workspace(room, plan);
}

}  // namespace ckgen::inline v1::detail
