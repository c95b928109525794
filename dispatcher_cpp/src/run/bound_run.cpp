#include <ckgen/bound_run.hpp>

#include <ckgen/dispatcher.hpp>

#include "src/gpu/runtime.hpp"
#include "src/gpu/workspace_pool.hpp"
#include "src/run/check_run.hpp"
#include "src/run/launch_stages.hpp"

namespace ckgen {
inline namespace v1 {

struct BoundRun::Impl {
  Impl(const Plan& of, const RunArgs& with) noexcept : plan(of), args(with), runtime(detail::runtime_of(of.device)) {}
  ~Impl() {
    if (graph != nullptr) static_cast<void>(runtime->release_graph(graph));
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  /// Of the plan's size, from a pool that nobody else draws on.
  Status take_workspace() noexcept {
    if (plan.workspace_size == 0) return Status::success();
    detail::WorkspacePool::Lease lease;
    const Status status = pool.acquire(plan.device, nullptr, plan.workspace_size, lease);
    if (status.ok()) workspace = lease.memory();
    return status;
  }

  /// What a run launches, kept by a stream of its own instead.
  Status capture(const Dispatcher& dispatcher) noexcept {
    void* stream = nullptr;
    if (const Status status = runtime->create_stream(&stream); !status.ok()) return status;
    Status status = runtime->begin_capture(stream);
    if (status.ok()) {
      status = dispatcher.run(plan, args, workspace, stream);
      const Status ended = runtime->end_capture(stream, &graph);
      if (status.ok()) status = ended;
    }
    const Status released = runtime->release_stream(stream);
    return status.ok() ? released : status;
  }

  const Plan plan;
  const RunArgs args;
  const detail::GpuRuntime* const runtime;  // null: no GPU
  detail::WorkspacePool pool;
  void* workspace = nullptr;
  void* graph = nullptr;
};

Status BoundRun::run(Stream stream) const noexcept {
  if (impl_ == nullptr) return Status::error(StatusCode::invalid_argument, "nothing is bound");
  if (impl_->runtime != nullptr) return impl_->runtime->launch_graph(impl_->graph, stream);
  return detail::launch_stages(impl_->plan, impl_->args, impl_->workspace, stream);
}

Result<BoundRun> Dispatcher::bind(const Plan& plan, const RunArgs& args) const noexcept {
  if (const Status status = preload(plan); !status.ok()) return status;
  try {
    const auto impl = std::make_shared<BoundRun::Impl>(plan, args);
    Status status = impl->take_workspace();
    if (status.ok()) status = impl->runtime != nullptr ? impl->capture(*this) : detail::check_run(plan, args);
    if (!status.ok()) return status;
    BoundRun bound;
    bound.impl_ = impl;
    return bound;
  } catch (...) {
    return Status::error(StatusCode::internal, "out of memory");
  }
}

}  // namespace v1
}  // namespace ckgen
