#include "src/plan/plan_stages.hpp"

#include "src/select/strategy.hpp"

namespace ckgen::inline v1::detail {
namespace {

void add(Plan& plan, const Stage& stage) noexcept {
  plan.stages[plan.stage_count++] = stage;
}

/// `bytes` of the workspace that `kernel` has, `offset` bytes into it.
Stage workspace_reset(const Stage& kernel, std::uint64_t offset, std::uint64_t bytes) noexcept {
  Stage stage = stage_of(kernel, StageKind::reset_workspace);
  stage.workspace_offset += offset;
  stage.reset_bytes = bytes;
  return stage;
}

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

/// Ok, or why the table of groups cannot get to where a kernel of attached GPU code reads it.
Status table_status(const Stage& kernel, const Groups& groups) noexcept {
  const GroupTableCode& table = *kernel.program->code().groups;
  const char* name = kernel.instance->name;
  if (!groups.are_on_device() && table.fill == nullptr)
    return Status::error(StatusCode::unsupported, "%s reads sizes of groups from the device only", name);
  if (groups.are_on_device() && table.build == nullptr)
    return Status::error(StatusCode::unsupported, "%s takes sizes of groups from the host only", name);
  if (groups.are_on_device() && resets_output(kernel))
    return Status::error(StatusCode::unsupported, "%s adds to C, and sizes on the device do not say what to reset",
                         name);
  return Status::success();
}

}  // namespace

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
  if (stage.program != nullptr) return stage.program->workspace(instance, problem, stage.k_batch, device);
  return instance.workspace != nullptr ? instance.workspace(instance, problem, stage.k_batch, stage.workgroups) : 0;
}

bool resets_output(const Stage& kernel) noexcept {
  if (kernel.program == nullptr) return false;
  const InstanceDesc& instance = *kernel.instance;
  if (instance.signature.op == Op::fmha) return false;  // splits of KV are combined, not added to O
  if (instance.signature.op == Op::moe && instance.signature.moe.part != MoePart::gate_up)
    return instance.constraints.atomic_split;
  return instance.constraints.max_k_batch > 1 && kernel.k_batch != 1;  // a k_batch of 0 may turn out not to need it
}

void add_kernel(const Stage& kernel, const Problem& problem, Slices& room, Plan& plan) noexcept {
  const std::uint64_t own = workspace_of(kernel, problem, plan.device);
  Stage stage = kernel;
  stage.workspace_offset = room.take(own);
  const StageKind behind = kernel.program != nullptr ? kernel.program->behind() : StageKind::kernel;
  if (kernel.program != nullptr && kernel.workgroups != 0)
    add_stream_k_reset(stage, plan);
  else if (behind == StageKind::add_slots)
    add(plan, workspace_reset(stage, 0, own));
  else if (resets_output(kernel))
    add(plan, stage_of(stage, StageKind::reset_output));
  add(plan, stage);
  if (behind != StageKind::kernel && own != 0) add(plan, stage_of(stage, behind));
}

Status fill_stages(const Stage& kernel, Plan& plan) noexcept {
  plan.launchable = launchable(kernel, plan.device);
  Slices room;
  const Groups* groups = kernel.program != nullptr ? plan.problem.groups() : nullptr;
  if (groups != nullptr) {
    if (plan.launchable.ok()) plan.launchable = table_status(kernel, *groups);
    Stage upload = stage_of(kernel, StageKind::upload);
    upload.output_offset =
        room.take(kernel.program->code().groups->bytes(*kernel.instance, plan.problem, kernel.k_batch));
    add(plan, upload);
  }
  add_kernel(kernel, plan.problem, room, plan);
  plan.workspace_size = room.total();
  if (room.fits()) return Status::success();
  return Status::error(StatusCode::invalid_argument, "the workspace has more bytes than 64-bit integers count");
}

}  // namespace ckgen::inline v1::detail
