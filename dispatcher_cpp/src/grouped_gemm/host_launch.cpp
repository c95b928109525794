#include <ckgen/host_launch.hpp>

#include <algorithm>

#include "backends/host/gemm/grouped.hpp"
#include "backends/host/threads.hpp"

namespace ckgen {
inline namespace v1 {

namespace {

host::RowOrder rows_of(const Launch& launch) noexcept {
  return launch.problem->batch_invariant() ? host::RowOrder::alike : host::RowOrder::any;
}

}  // namespace

Status launch_grouped_gemm_twin(const Launch& launch) noexcept {
  const host::ThreadLimit limit(launch.problem);
  const InstanceDesc& instance = *launch.instance;
  return host::run_grouped_twin(traits_of(instance.signature), instance.twin_config, std::max(launch.k_batch, 1U),
                                *launch.grouped, launch.workspace, rows_of(launch));
}

std::size_t grouped_gemm_twin_workspace_of(const InstanceDesc& instance, const Problem& problem, std::uint32_t k_batch,
                                           std::uint32_t) noexcept {
  const host::ThreadLimit limit(&problem);
  return host::grouped_twin_workspace(traits_of(instance.signature), instance.twin_config, std::max(k_batch, 1U),
                                      *problem.groups());
}

Status launch_grouped_gemm_host(const Launch& launch) noexcept {
  const host::ThreadLimit limit(launch.problem);
  const InstanceDesc& instance = *launch.instance;
  return host::run_grouped_host(traits_of(instance.signature), instance.host_config, *launch.grouped, launch.workspace,
                                rows_of(launch));
}

std::size_t grouped_gemm_host_workspace_of(const InstanceDesc& instance, const Problem& problem, std::uint32_t,
                                           std::uint32_t) noexcept {
  const host::ThreadLimit limit(&problem);
  return host::grouped_host_workspace(traits_of(instance.signature), instance.host_config, *problem.groups());
}

}  // namespace v1
}  // namespace ckgen
