#include <ckgen/host_launch.hpp>

#include <algorithm>

#include "backends/host/gemm.hpp"

namespace ckgen {
inline namespace v1 {

Status launch_gemm_twin(const Launch& launch) noexcept {
  const InstanceDesc& instance = *launch.instance;
  return host::run_gemm_twin(traits_of(instance.signature), instance.twin_config, std::max(launch.k_batch, 1U),
                             *launch.args, launch.workspace);
}

std::size_t gemm_twin_workspace_of(const InstanceDesc& instance, const Problem& problem,
                                   std::uint32_t k_batch) noexcept {
  return host::gemm_twin_workspace(traits_of(instance.signature), instance.twin_config, std::max(k_batch, 1U),
                                   problem.m(), problem.n(), problem.k(), problem.batch());
}

Status launch_gemm_host(const Launch& launch) noexcept {
  const InstanceDesc& instance = *launch.instance;
  return host::run_gemm_host(traits_of(instance.signature), instance.host_config, *launch.args, launch.workspace);
}

std::size_t gemm_host_workspace_of(const InstanceDesc& instance, const Problem& problem, std::uint32_t) noexcept {
  return host::gemm_host_workspace(traits_of(instance.signature), instance.host_config, problem.m(), problem.n(),
                                   problem.k(), problem.batch());
}

}  // namespace v1
}  // namespace ckgen
