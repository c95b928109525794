#include <ckgen/host_launch.hpp>

#include "backends/host/fmha.hpp"
#include "backends/host/fmha_append.hpp"
#include "backends/host/threads.hpp"

namespace ckgen {
inline namespace v1 {

Status launch_fmha(const Launch& launch) noexcept {
  const host::ThreadLimit limit(launch.problem);
  const bool appends = launch.instance->signature.fmha.entry == FmhaEntry::append;
  return appends ? host::fmha_append(launch) : host::fmha(launch);
}

std::size_t fmha_workspace_of(const InstanceDesc& instance, const Problem& problem, std::uint32_t k_batch,
                              std::uint32_t) noexcept {
  const host::ThreadLimit limit(&problem);
  return host::fmha_workspace(instance, problem, k_batch);
}

}  // namespace v1
}  // namespace ckgen
