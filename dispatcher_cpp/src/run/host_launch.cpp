#include <ckgen/host_launch.hpp>

#include <algorithm>

#include "backends/host/fmha.hpp"
#include "backends/host/fmha_append.hpp"
#include "backends/host/gemm.hpp"
#include "backends/host/grouped.hpp"
#include "backends/host/moe.hpp"

namespace ckgen {
inline namespace v1 {
namespace {

host::MoeShape shape_of(const Problem& problem) noexcept {
  return {problem.m(), problem.n(), problem.k(), problem.routing(), problem.block_m()};
}

}  // namespace

Status launch_gemm_twin(const Launch& launch) noexcept {
  const InstanceDesc& instance = *launch.instance;
  const GemmTraits traits = traits_of(instance.signature);
  if (launch.workgroups != 0)
    return host::run_gemm_twin_stream_k(traits, instance.twin_config, instance.stream_k.strategy, launch.workgroups,
                                        *launch.args, launch.workspace);
  return host::run_gemm_twin(traits, instance.twin_config, std::max(launch.k_batch, 1U), *launch.args,
                             launch.workspace);
}

std::size_t gemm_twin_workspace_of(const InstanceDesc& instance, const Problem& problem, std::uint32_t k_batch,
                                   std::uint32_t workgroups) noexcept {
  const GemmTraits traits = traits_of(instance.signature);
  if (workgroups != 0)
    return host::gemm_twin_stream_k_workspace(traits, instance.twin_config, instance.stream_k.strategy, workgroups,
                                              problem.m(), problem.n(), problem.k(), problem.batch());
  return host::gemm_twin_workspace(traits, instance.twin_config, std::max(k_batch, 1U), problem.m(), problem.n(),
                                   problem.k(), problem.batch());
}

Status launch_gemm_host(const Launch& launch) noexcept {
  const InstanceDesc& instance = *launch.instance;
  const GemmTraits traits = traits_of(instance.signature);
  if (launch.workgroups != 0)
    return host::run_gemm_host_stream_k(traits, instance.host_config, instance.stream_k.strategy, launch.workgroups,
                                        *launch.args, launch.workspace);
  return host::run_gemm_host(traits, instance.host_config, *launch.args, launch.workspace);
}

std::size_t gemm_host_workspace_of(const InstanceDesc& instance, const Problem& problem, std::uint32_t,
                                   std::uint32_t workgroups) noexcept {
  const GemmTraits traits = traits_of(instance.signature);
  if (workgroups != 0)
    return host::gemm_host_stream_k_workspace(traits, instance.host_config, instance.stream_k.strategy, workgroups,
                                              problem.m(), problem.n(), problem.k(), problem.batch());
  return host::gemm_host_workspace(traits, instance.host_config, problem.m(), problem.n(), problem.k(),
                                   problem.batch());
}

Status launch_grouped_gemm_twin(const Launch& launch) noexcept {
  const InstanceDesc& instance = *launch.instance;
  return host::run_grouped_twin(traits_of(instance.signature), instance.twin_config, std::max(launch.k_batch, 1U),
                                *launch.grouped, launch.workspace);
}

std::size_t grouped_gemm_twin_workspace_of(const InstanceDesc& instance, const Problem& problem, std::uint32_t k_batch,
                                           std::uint32_t) noexcept {
  return host::grouped_twin_workspace(traits_of(instance.signature), instance.twin_config, std::max(k_batch, 1U),
                                      *problem.groups());
}

Status launch_grouped_gemm_host(const Launch& launch) noexcept {
  const InstanceDesc& instance = *launch.instance;
  return host::run_grouped_host(traits_of(instance.signature), instance.host_config, *launch.grouped, launch.workspace);
}

std::size_t grouped_gemm_host_workspace_of(const InstanceDesc& instance, const Problem& problem, std::uint32_t,
                                           std::uint32_t) noexcept {
  return host::grouped_host_workspace(traits_of(instance.signature), instance.host_config, *problem.groups());
}

Status launch_moe_twin(const Launch& launch) noexcept {
  const InstanceDesc& instance = *launch.instance;
  return host::run_moe_twin(traits_of(instance.signature), instance.signature.moe, instance.twin_config,
                            shape_of(*launch.problem), *launch.moe, launch.workspace);
}

std::size_t moe_twin_workspace_of(const InstanceDesc& instance, const Problem& problem, std::uint32_t,
                                  std::uint32_t) noexcept {
  return host::moe_twin_workspace(traits_of(instance.signature), instance.signature.moe, instance.twin_config,
                                  shape_of(problem));
}

Status launch_moe_host(const Launch& launch) noexcept {
  const InstanceDesc& instance = *launch.instance;
  return host::run_moe_host(traits_of(instance.signature), instance.signature.moe, instance.host_config,
                            shape_of(*launch.problem), *launch.moe, launch.workspace);
}

std::size_t moe_host_workspace_of(const InstanceDesc& instance, const Problem& problem, std::uint32_t,
                                  std::uint32_t) noexcept {
  return host::moe_host_workspace(traits_of(instance.signature), instance.signature.moe, instance.host_config,
                                  shape_of(problem));
}

Status launch_fmha(const Launch& launch) noexcept {
  const bool appends = launch.instance->signature.fmha.entry == FmhaEntry::append;
  return appends ? host::fmha_append(launch) : host::fmha(launch);
}

std::size_t fmha_workspace_of(const InstanceDesc& instance, const Problem& problem, std::uint32_t k_batch,
                              std::uint32_t) noexcept {
  return host::fmha_workspace(instance, problem, k_batch);
}

}  // namespace v1
}  // namespace ckgen
