#include "check_args.hpp"
#include "dispatcher_impl.hpp"
#include "strategy.hpp"

namespace ckgen {
inline namespace v1 {
namespace {

/// Real GPUs take the attached code or the device launcher; everywhere else the host kernel of the same contract runs.
Stage kernel_stage(const InstanceDesc& instance, const detail::DeviceProgram* program, std::uint32_t k_batch,
                   const Device& device) noexcept {
  const bool gpu = device.kind() == DeviceKind::gpu;
  Stage stage{&instance, k_batch, gpu ? instance.device : instance.twin, 0, gpu ? program : nullptr};
  stage.workgroups = stream_k_workgroups(instance, device.cu_num());
  return stage;
}

Stage reset(const Stage& kernel, StageKind kind) noexcept {
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
        detail::stream_k_workspace(instance, detail::partition_of(instance, problem, stage.workgroups)).total());
  if (stage.program != nullptr) return stage.program->workspace(instance, problem, stage.k_batch, device);
  return instance.workspace != nullptr ? instance.workspace(instance, problem, stage.k_batch, stage.workgroups) : 0;
}

/// The resets that `kernel` needs on a GPU, then the kernel itself.
void fill_stages(const Stage& kernel, Plan& plan) noexcept {
  const auto add = [&plan](const Stage& stage) { plan.stages[plan.stage_count++] = stage; };
  const InstanceDesc& instance = *kernel.instance;
  if (kernel.program != nullptr && kernel.workgroups != 0) {
    const StreamKPartition partition = detail::partition_of(instance, plan.problem, kernel.workgroups);
    if (partition.sk_tiles > 0 && instance.stream_k.strategy == Strategy::atomic) {
      add(reset(kernel, StageKind::reset_output));
    } else if (partition.sk_tiles > 0) {
      const StreamKWorkspace room = detail::stream_k_workspace(instance, partition);
      Stage flags = reset(kernel, StageKind::reset_workspace);
      flags.workspace_offset = static_cast<std::uint64_t>(room.flags_offset);
      flags.reset_bytes = static_cast<std::uint64_t>(room.flags_bytes);
      add(flags);
    }
  } else if (kernel.program != nullptr && instance.constraints.max_k_batch > 1 && kernel.k_batch != 1) {
    add(reset(kernel, StageKind::reset_output));  // a k_batch of 0 may turn out not to need it
  }
  add(kernel);
}

/// The problem as the kernels see it: the device's own fp8, one batch entry where the signature is not batched.
Problem concrete(const Problem& problem, const Signature& signature) noexcept {
  return Problem(signature)
      .shape(problem.m(), problem.n(), problem.k())
      .batch(signature.batched ? problem.batch() : 1)
      .deterministic(problem.deterministic())
      .strategy(problem.strategy());
}

Status refused(const Selection& selection) noexcept {
  try {
    return Status::error(StatusCode::unsupported, "%s", reason(selection).c_str());
  } catch (...) {
    return Status::error(StatusCode::internal, "out of memory");
  }
}

}  // namespace

Result<Plan> Dispatcher::plan(const Problem& problem, const Device& device) const noexcept {
  if (!problem.status().ok()) return problem.status();
  if (!device) return device.status();
  return plan(problem, device, select(problem, device));
}

Result<Plan> Dispatcher::plan(const Problem& problem, const Device& device, const Selection& selection) const noexcept {
  if (!impl_) return status();
  if (!problem.status().ok()) return problem.status();
  if (!device) return device.status();
  if (!selection) return refused(selection);
  if (selection.instance >= impl_->state->instances.size())
    return Status::error(StatusCode::invalid_argument, "the selection names no instance of this dispatcher");
  const detail::Query q = impl_->query(problem, device);
  const InstanceDesc& instance = *impl_->state->instances[selection.instance];
  detail::Verdict verdict = detail::check(q.signature, q.sizes);
  if (verdict.ok()) verdict = q.foreign_verdict(instance, selection.k_batch);
  if (!verdict.ok()) {
    Selection rejected;
    rejected.rule = verdict.rule;
    rejected.measured = verdict.measured;
    rejected.limit = verdict.limit;
    return refused(rejected);
  }
  Plan plan;
  plan.problem = concrete(problem, q.signature);
  if (const Status status = detail::check_extents(plan.problem); !status.ok()) return status;
  plan.device = device;
  plan.selection = selection;
  const Stage kernel = kernel_stage(instance, impl_->state->program(selection.instance), selection.k_batch, device);
  fill_stages(kernel, plan);
  plan.workspace_size = workspace_of(kernel, plan.problem, device);
  plan.launchable = launchable(kernel, device);
  return plan;
}

}  // namespace v1
}  // namespace ckgen
