#include <algorithm>
#include <chrono>
#include <vector>

#include "check_args.hpp"
#include "dispatcher_impl.hpp"
#include "hip_loader.hpp"

namespace ckgen {
inline namespace v1 {
namespace {

/// Whether the plan can be launched on this thread's device.
Status check(const Plan& plan) noexcept {
  if (plan.stage_count == 0 || plan.stage_count > kMaxStages)
    return Status::error(StatusCode::invalid_argument, "the plan is empty");
  if (!plan.launchable.ok()) return plan.launchable;
  if (plan.device.kind() != DeviceKind::gpu) return Status::success();
  int current = -1;
  if (const Status status = detail::HipLoader::instance().current_device(current); !status.ok()) return status;
  if (current == plan.device.id()) return Status::success();
  return Status::error(StatusCode::invalid_argument, "the plan is for HIP device %d, the current one is %d",
                       plan.device.id(), current);
}

Status check(const Plan& plan, const GemmArgs& args) noexcept {
  const Status status = check(plan);
  return status.ok() ? detail::check_args(plan.problem, args) : status;
}

Status launch(const Plan& plan, const GemmArgs& args, void* workspace, Stream stream) noexcept {
  detail::Resets resets;
  for (std::uint32_t i = 0; i < plan.stage_count; ++i) {
    const Stage& stage = plan.stages[i];
    void* own = workspace == nullptr ? nullptr : static_cast<char*>(workspace) + stage.workspace_offset;
    if (stage.kind == StageKind::reset_output) {
      resets.output = true;
    } else if (stage.kind == StageKind::reset_workspace) {
      resets.workspace = own;
      resets.workspace_bytes = stage.reset_bytes;
    } else {
      const Launch one{stage.instance, &plan.problem, stage.k_batch, &args, own, stream, stage.workgroups};
      const Status status =
          stage.program != nullptr ? stage.program->launch(one, plan.device, resets) : stage.launch(one);
      if (!status.ok()) return status;
      resets = {};
    }
  }
  return Status::success();
}

}  // namespace

Status Dispatcher::preload(const Plan& plan) const noexcept {
  if (const Status status = check(plan); !status.ok()) return status;
  for (std::uint32_t i = 0; i < plan.stage_count; ++i) {
    const Stage& stage = plan.stages[i];
    if (stage.program == nullptr) continue;
    if (const Status status = stage.program->preload(*stage.instance, plan.device); !status.ok()) return status;
  }
  return Status::success();
}

Status Dispatcher::run(const Plan& plan, const GemmArgs& args, void* workspace, Stream stream) const noexcept {
  if (const Status status = check(plan, args); !status.ok()) return status;
  if (plan.workspace_size != 0 && workspace == nullptr)
    return Status::error(StatusCode::invalid_argument, "workspace is null, the plan needs %llu bytes",
                         static_cast<unsigned long long>(plan.workspace_size));
  if (reinterpret_cast<std::uintptr_t>(workspace) % 64 != 0)
    return Status::error(StatusCode::invalid_argument, "workspace is not aligned to 64 bytes");
  return launch(plan, args, workspace, stream);
}

Status Dispatcher::run(const Plan& plan, const GemmArgs& args, Stream stream) const noexcept {
  if (!impl_) return status();
  if (const Status status = check(plan, args); !status.ok()) return status;
  if (plan.workspace_size == 0) return launch(plan, args, nullptr, stream);
  detail::WorkspacePool::Lease lease;
  if (const Status status = impl_->pool.acquire(plan.device, stream, plan.workspace_size, lease); !status.ok())
    return status;
  return launch(plan, args, lease.memory(), stream);
}

Result<BenchResult> Dispatcher::bench(const Plan& plan, const GemmArgs& args,
                                      const BenchOptions& options) const noexcept {
  using Clock = std::chrono::steady_clock;
  if (options.runs < 1 || options.warmup < 0)
    return Status::error(StatusCode::invalid_argument, "bench needs at least one run");
  const bool on_gpu = plan.device.kind() == DeviceKind::gpu;
  try {
    std::vector<double> times;
    for (int i = -options.warmup; i < options.runs; ++i) {
      const Clock::time_point begin = Clock::now();
      Status status = run(plan, args, Stream{nullptr});
      if (status.ok() && on_gpu) status = detail::HipLoader::instance().synchronize(nullptr);
      if (!status.ok()) return status;
      if (i >= 0) times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
    }
    std::sort(times.begin(), times.end());
    const std::size_t half = times.size() / 2;
    const double median = times.size() % 2 == 1 ? times[half] : (times[half - 1] + times[half]) / 2;
    return BenchResult{median, times.front(), times.back(), options.runs};
  } catch (...) {
    return Status::error(StatusCode::internal, "out of memory");
  }
}

}  // namespace v1
}  // namespace ckgen
