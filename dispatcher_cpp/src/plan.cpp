#include "check_args.hpp"
#include "dispatcher_impl.hpp"

namespace ckgen {
inline namespace v1 {
namespace {

/// Real GPUs take the attached code or the device launcher; everywhere else the host kernel of the same contract runs.
Stage stage_of(const InstanceDesc& instance, const detail::DeviceProgram* program, std::uint32_t k_batch,
               DeviceKind kind) noexcept {
  if (kind != DeviceKind::gpu) return {&instance, k_batch, instance.twin, 0, nullptr};
  return {&instance, k_batch, instance.device, 0, program};
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
  if (stage.program != nullptr) return stage.program->workspace(instance, problem, stage.k_batch, device);
  return instance.workspace != nullptr ? instance.workspace(instance, problem, stage.k_batch) : 0;
}

/// The problem as the kernels see it: the device's own fp8, one batch entry where the signature is not batched.
Problem concrete(const Problem& problem, const Signature& signature) noexcept {
  return Problem(signature)
      .shape(problem.m(), problem.n(), problem.k())
      .batch(signature.batched ? problem.batch() : 1)
      .deterministic(problem.deterministic());
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
  plan.stages[0] = stage_of(instance, impl_->state->program(selection.instance), selection.k_batch, device.kind());
  plan.stage_count = 1;
  plan.workspace_size = workspace_of(plan.stages[0], plan.problem, device);
  plan.launchable = launchable(plan.stages[0], device);
  return plan;
}

}  // namespace v1
}  // namespace ckgen
