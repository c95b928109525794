#include <algorithm>
#include <cstdlib>
#include <vector>

#include "src/gpu/runtime.hpp"
#include "src/run/check_run.hpp"
#include "src/run/launch_stages.hpp"
#include "src/run/stopwatch.hpp"
#include "src/select/dispatcher_impl.hpp"

namespace ckgen {
inline namespace v1 {
namespace {

Status run_in(const Plan& plan, const RunArgs& args, void* workspace, Stream stream) noexcept {
  if (const Status status = detail::check_run(plan, args); !status.ok()) return status;
  if (plan.workspace_size != 0 && workspace == nullptr)
    return Status::error(StatusCode::invalid_argument, "workspace is null, the plan needs %llu bytes",
                         static_cast<unsigned long long>(plan.workspace_size));
  if (reinterpret_cast<std::uintptr_t>(workspace) % 64 != 0)
    return Status::error(StatusCode::invalid_argument, "workspace is not aligned to 64 bytes");
  return detail::launch_stages(plan, args, workspace, stream);
}

Status run_pooled(detail::WorkspacePool& pool, const Plan& plan, const RunArgs& args, Stream stream) noexcept {
  if (const Status status = detail::check_run(plan, args); !status.ok()) return status;
  if (plan.workspace_size == 0) return detail::launch_stages(plan, args, nullptr, stream);
  detail::WorkspacePool::Lease lease;
  if (const Status status = pool.acquire(plan.device, stream, plan.workspace_size, lease); !status.ok()) return status;
  return detail::launch_stages(plan, args, lease.memory(), stream);
}

}  // namespace

BenchOptions BenchOptions::from_environment() noexcept {
  BenchOptions options;
  const auto read = [](const char* name, std::int64_t least, int& out) {
    const char* const text = std::getenv(name);
    std::int64_t number = 0;
    if (text != nullptr && detail::read_number(text, least, number) && number <= 1'000'000'000)
      out = static_cast<int>(number);
  };
  read("CK_TILE_BENCH_WARMUP", 0, options.warmup);
  read("CK_TILE_BENCH_REPEAT", 1, options.runs);
  return options;
}

Result<BenchResult> Dispatcher::bench(const Plan& plan, const RunArgs& args,
                                      const BenchOptions& options) const noexcept {
  if (options.runs < 1 || options.warmup < 0)
    return Status::error(StatusCode::invalid_argument, "bench needs at least one run");
  try {
    detail::Stopwatch stopwatch(detail::runtime_of(plan.device));
    std::vector<double> times;
    for (int i = -options.warmup; i < options.runs; ++i) {
      double microseconds = 0;
      Status status = stopwatch.start();
      if (status.ok()) status = run(plan, args, Stream{nullptr});
      if (status.ok()) status = stopwatch.stop(microseconds);
      if (!status.ok()) return status;
      if (i >= 0) times.push_back(microseconds);
    }
    std::sort(times.begin(), times.end());
    const std::size_t half = times.size() / 2;
    const double median = times.size() % 2 == 1 ? times[half] : (times[half - 1] + times[half]) / 2;
    return BenchResult{median, times.front(), times.back(), options.runs};
  } catch (...) {
    return Status::error(StatusCode::internal, "out of memory");
  }
}

Status Dispatcher::preload(const Plan& plan) const noexcept {
  if (const Status status = detail::check_plan(plan); !status.ok()) return status;
  for (std::uint32_t i = 0; i < plan.stage_count; ++i) {
    const Stage& stage = plan.stages[i];
    if (stage.program == nullptr) continue;
    if (const Status status = stage.program->preload(*stage.instance, plan.device); !status.ok()) return status;
  }
  return Status::success();
}

Status Dispatcher::run(const Plan& plan, const RunArgs& args, void* workspace, Stream stream) const noexcept {
  return run_in(plan, args, workspace, stream);
}

Status Dispatcher::run(const Plan& plan, const RunArgs& args, Stream stream) const noexcept {
  return impl_ ? run_pooled(impl_->pool, plan, args, stream) : status();
}

}  // namespace v1
}  // namespace ckgen
