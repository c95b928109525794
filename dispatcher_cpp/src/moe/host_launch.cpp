#include <ckgen/host_launch.hpp>

#include "backends/host/moe/moe.hpp"
#include "backends/host/threads.hpp"

namespace ckgen {
inline namespace v1 {
namespace {

host::MoeShape shape_of(const Problem& problem) noexcept {
  return {problem.m(), problem.n(), problem.k(), problem.routing(), problem.block_m()};
}

host::RowOrder rows_of(const Launch& launch) noexcept {
  return launch.problem->batch_invariant() ? host::RowOrder::alike : host::RowOrder::any;
}

}  // namespace

Status launch_moe_twin(const Launch& launch) noexcept {
  const host::ThreadLimit limit(launch.problem);
  const InstanceDesc& instance = *launch.instance;
  return host::run_moe_twin(traits_of(instance.signature), instance.signature.moe, instance.twin_config,
                            shape_of(*launch.problem), *launch.moe, launch.workspace, rows_of(launch));
}

std::size_t moe_twin_workspace_of(const InstanceDesc& instance, const Problem& problem, std::uint32_t,
                                  std::uint32_t) noexcept {
  const host::ThreadLimit limit(&problem);
  return host::moe_twin_workspace(traits_of(instance.signature), instance.signature.moe, instance.twin_config,
                                  shape_of(problem));
}

Status launch_moe_host(const Launch& launch) noexcept {
  const host::ThreadLimit limit(launch.problem);
  const InstanceDesc& instance = *launch.instance;
  return host::run_moe_host(traits_of(instance.signature), instance.signature.moe, instance.host_config,
                            shape_of(*launch.problem), *launch.moe, launch.workspace, rows_of(launch));
}

std::size_t moe_host_workspace_of(const InstanceDesc& instance, const Problem& problem, std::uint32_t,
                                  std::uint32_t) noexcept {
  const host::ThreadLimit limit(&problem);
  return host::moe_host_workspace(traits_of(instance.signature), instance.signature.moe, instance.host_config,
                                  shape_of(problem));
}

}  // namespace v1
}  // namespace ckgen
