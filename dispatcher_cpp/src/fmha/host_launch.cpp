#include <ckgen/host_launch.hpp>

#include "backends/host/fmha/append.hpp"
#include "backends/host/fmha/backward.hpp"
#include "backends/host/fmha/fmha.hpp"
#include "backends/host/threads.hpp"

namespace ckgen {
inline namespace v1 {

Status launch_fmha(const Launch& launch) noexcept {
  const host::ThreadLimit limit(launch.problem);
  switch (launch.instance->signature.fmha.entry) {
    case FmhaEntry::append: return host::fmha_append(launch);
    case FmhaEntry::backward: return host::fmha_backward(launch);
    case FmhaEntry::forward: break;
  }
  return host::fmha(launch);
}

std::size_t fmha_workspace_of(const InstanceDesc& instance, const Problem& problem, std::uint32_t k_batch,
                              std::uint32_t) noexcept {
  const host::ThreadLimit limit(&problem);
  return instance.signature.fmha.entry == FmhaEntry::backward ? host::fmha_backward_workspace(instance, problem)
                                                              : host::fmha_workspace(instance, problem, k_batch);
}

}  // namespace v1
}  // namespace ckgen
