#include "check_args.hpp"
#include "dispatcher_impl.hpp"

namespace ckgen {
inline namespace v1 {
namespace {

/// Real GPUs take the device launcher; everywhere else the host kernel of the same contract runs.
LaunchFn launcher_of(const InstanceDesc& instance, DeviceKind kind) noexcept {
  return kind == DeviceKind::gpu ? instance.device : instance.twin;
}

Status launchable(const InstanceDesc& instance, const Device& device) noexcept {
  if (launcher_of(instance, device.kind()) != nullptr) return Status::success();
  return Status::error(StatusCode::unsupported, "%s has no %s: it cannot run on %s", instance.name,
                       device.kind() == DeviceKind::gpu ? "device launcher" : "host twin", device.gfx());
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
  plan.stages[0] = {&instance, selection.k_batch, launcher_of(instance, device.kind()), 0};
  plan.stage_count = 1;
  plan.workspace_size =
      instance.workspace != nullptr ? instance.workspace(instance, plan.problem, selection.k_batch) : 0;
  plan.launchable = launchable(instance, device);
  return plan;
}

}  // namespace v1
}  // namespace ckgen
