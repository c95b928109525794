#include "src/fmha/absent.hpp"
#include "src/plan/plan_stages.hpp"
#include "src/run/check_args.hpp"
#include "src/select/dispatcher_impl.hpp"

namespace ckgen {
inline namespace v1 {
namespace {

/// The problem as the kernels see it: the device's own fp8, one batch entry where the signature is not batched, the
/// instance's block_m where it sorts tokens.
Problem concrete(const Problem& problem, const Signature& signature, const InstanceDesc& instance) noexcept {
  Problem own(signature);
  own.deterministic(problem.deterministic()).strategy(problem.strategy());
  if (signature.op == Op::grouped_gemm) return own.groups(*problem.groups());
  if (signature.op == Op::fmha) return own.fmha(problem.fmha());
  own.shape(problem.m(), problem.n(), problem.k()).batch(signature.batched ? problem.batch() : 1);
  return signature.op == Op::moe ? own.routing(problem.routing()).block_m(instance.macro_tile.m) : own;
}

/// Whether a MoE layer is to run as its parts: on a GPU, where it has no code of its own.
bool runs_in_parts(const InstanceDesc& instance, const Stage& kernel, const Device& device) noexcept {
  return device.kind() == DeviceKind::gpu && kernel.program == nullptr && kernel.launch == nullptr &&
         instance.parts[0] != 0;
}

/// A plan's refusal names the signature that no instance of attention has, and what the nearest differs in.
Status refused(const Selection& selection, const detail::Query& q) noexcept {
  try {
    if (q.signature.op == Op::fmha && selection.rule == q.untried().rule)
      return Status::error(StatusCode::unsupported, "%s: %s", reason(selection).c_str(),
                           detail::fmha_absent(q).c_str());
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
  if (!verdict.ok()) {
    Selection rejected;
    rejected.rule = verdict.rule;
    rejected.measured = verdict.measured;
    rejected.limit = verdict.limit;
    return refused(rejected, q);
  }
  Plan plan;
  plan.problem = concrete(problem, q.signature, instance);
  if (const Status status = detail::check_extents(plan.problem); !status.ok()) return status;
  plan.device = device;
  plan.selection = selection;
  const Stage kernel =
      detail::kernel_stage(instance, impl_->state->program(selection.instance), selection.k_batch, device);
  const Status filled = runs_in_parts(instance, kernel, device)
                            ? detail::fill_moe_stages(*impl_->state, instance, problem.block_m() == 0, plan)
                            : detail::fill_stages(kernel, plan);
  if (!filled.ok()) return filled;
  return plan;
}

}  // namespace v1
}  // namespace ckgen
