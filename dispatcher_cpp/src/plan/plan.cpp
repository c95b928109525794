#include "src/operation/operation.hpp"
#include "src/plan/plan_stages.hpp"
#include "src/select/dispatcher_impl.hpp"
#include "src/select/walk_order.hpp"

namespace ckgen {
inline namespace v1 {
namespace {

/// The problem as the kernels see it: the device's own fp8, and the rest as its operation settles it.
Problem concrete(const Problem& problem, const Signature& signature, const InstanceDesc& instance) noexcept {
  Problem own(signature);
  own.deterministic(problem.deterministic()).batch_invariant(problem.batch_invariant()).strategy(problem.strategy());
  own.num_threads(problem.num_threads());
  detail::operation_of(signature.op).running.settle(problem, instance, own);
  return own;
}

/// A plan's refusal names the signature that has no instance, and what the nearest differs in.
Status refused(const Selection& selection, const detail::Query& q) noexcept {
  try {
    const auto nearest = q.operation().explaining.nearest;
    if (nearest != nullptr && selection.rule == q.untried().rule)
      return Status::error(StatusCode::unsupported, "%s: %s", reason(selection).c_str(), nearest(q).c_str());
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
  const detail::Query q = impl_->query(problem, device);
  if (!selection) return refused(selection, q);
  if (selection.instance >= impl_->state->instances.size())
    return Status::error(StatusCode::invalid_argument, "the selection names no instance of this dispatcher");
  const InstanceDesc& instance = *impl_->state->instances[selection.instance];
  detail::Verdict verdict = q.illegal();
  if (verdict.ok()) verdict = q.foreign_verdict(instance, selection.k_batch);
  if (verdict.ok() && q.batch_invariant && detail::order_of(instance, selection.k_batch).number == 0)
    verdict = detail::broken(ProblemRule::gemm_instance_no_order, selection.k_batch, 0);
  if (!verdict.ok()) {
    Selection rejected;
    rejected.rule = verdict.rule;
    rejected.measured = verdict.measured;
    rejected.limit = verdict.limit;
    return refused(rejected, q);
  }
  Plan plan;
  plan.problem = concrete(problem, q.signature, instance);
  const detail::Running& running = q.operation().running;
  if (const Status status = running.check_extents(plan.problem); !status.ok()) return status;
  plan.device = device;
  plan.selection = selection;
  const Stage kernel =
      detail::kernel_stage(instance, impl_->state->program(selection.instance), selection.k_batch, device);
  const Status filled = running.fill_stages != nullptr ? running.fill_stages(*impl_->state, problem, kernel, plan)
                                                       : detail::fill_stages(kernel, plan);
  if (!filled.ok()) return filled;
  return plan;
}

}  // namespace v1
}  // namespace ckgen
