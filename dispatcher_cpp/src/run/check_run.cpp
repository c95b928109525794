#include "src/run/check_run.hpp"

#include "src/gpu/runtime.hpp"
#include "src/operation/operation.hpp"

namespace ckgen::inline v1::detail {

Status check_plan(const Plan& plan) noexcept {
  if (plan.stage_count == 0 || plan.stage_count > kMaxStages)
    return Status::error(StatusCode::invalid_argument, "the plan is empty");
  if (!plan.launchable.ok()) return plan.launchable;
  const GpuRuntime* runtime = runtime_of(plan.device);
  if (runtime == nullptr) return Status::success();
  int current = -1;
  if (const Status status = runtime->current_device(current); !status.ok()) return status;
  if (current == plan.device.id()) return Status::success();
  return Status::error(StatusCode::invalid_argument, "the plan is for %s device %d, the current one is %d",
                       runtime->name(), plan.device.id(), current);
}

Status check_run(const Plan& plan, const RunArgs& args) noexcept {
  if (const Status status = check_plan(plan); !status.ok()) return status;
  const Running& running = operation_of(plan.problem.signature().op).running;
  if (args.op() == plan.problem.signature().op) return running.check_args(plan, args);
  return Status::error(StatusCode::invalid_argument, "the plan is not of %s: it takes other arguments",
                       operation_of(args.op()).running.what);
}

}  // namespace ckgen::inline v1::detail
