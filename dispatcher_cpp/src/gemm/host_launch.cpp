#include <ckgen/host_launch.hpp>

#include <algorithm>

#include "backends/host/gemm/gemm.hpp"
#include "backends/host/threads.hpp"

namespace ckgen {
inline namespace v1 {

namespace {

host::RowOrder rows_of(const Launch& launch) noexcept {
  const bool alike = launch.problem != nullptr && launch.problem->batch_invariant();
  return alike ? host::RowOrder::alike : host::RowOrder::any;
}

}  // namespace

Status launch_gemm_twin(const Launch& launch) noexcept {
  const host::ThreadLimit limit(launch.problem);
  const InstanceDesc& instance = *launch.instance;
  const GemmTraits traits = traits_of(instance.signature);
  if (launch.workgroups != 0)
    return host::run_gemm_twin_stream_k(traits, instance.twin_config, instance.stream_k.strategy, launch.workgroups,
                                        *launch.args, launch.workspace);
  return host::run_gemm_twin(traits, instance.twin_config, std::max(launch.k_batch, 1U), *launch.args, launch.workspace,
                             rows_of(launch));
}

std::size_t gemm_twin_workspace_of(const InstanceDesc& instance, const Problem& problem, std::uint32_t k_batch,
                                   std::uint32_t workgroups) noexcept {
  const host::ThreadLimit limit(&problem);
  const GemmTraits traits = traits_of(instance.signature);
  if (workgroups != 0)
    return host::gemm_twin_stream_k_workspace(traits, instance.twin_config, instance.stream_k.strategy, workgroups,
                                              problem.m(), problem.n(), problem.k(), problem.batch());
  return host::gemm_twin_workspace(traits, instance.twin_config, std::max(k_batch, 1U), problem.m(), problem.n(),
                                   problem.k(), problem.batch());
}

Status launch_gemm_host(const Launch& launch) noexcept {
  const host::ThreadLimit limit(launch.problem);
  const InstanceDesc& instance = *launch.instance;
  const GemmTraits traits = traits_of(instance.signature);
  if (launch.workgroups != 0)
    return host::run_gemm_host_stream_k(traits, instance.host_config, instance.stream_k.strategy, launch.workgroups,
                                        *launch.args, launch.workspace);
  return host::run_gemm_host(traits, instance.host_config, *launch.args, launch.workspace, rows_of(launch));
}

std::size_t gemm_host_workspace_of(const InstanceDesc& instance, const Problem& problem, std::uint32_t,
                                   std::uint32_t workgroups) noexcept {
  const host::ThreadLimit limit(&problem);
  const GemmTraits traits = traits_of(instance.signature);
  if (workgroups != 0)
    return host::gemm_host_stream_k_workspace(traits, instance.host_config, instance.stream_k.strategy, workgroups,
                                              problem.m(), problem.n(), problem.k(), problem.batch());
  return host::gemm_host_workspace(traits, instance.host_config, problem.m(), problem.n(), problem.k(),
                                   problem.batch());
}

}  // namespace v1
}  // namespace ckgen
