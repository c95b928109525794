#include "src/gpu/runtime.hpp"

#include <array>

#include "src/gpu/cuda.hpp"
#include "src/gpu/hip.hpp"

namespace ckgen::inline v1::detail {

std::span<const GpuRuntime* const> gpu_runtimes() noexcept {
  static const std::array<const GpuRuntime*, 2> known{&hip_runtime(), &cuda_runtime()};
  return known;
}

const GpuRuntime* runtime_of(const Device& device) noexcept {
  if (device.kind() != DeviceKind::gpu) return nullptr;
  for (const GpuRuntime* runtime : gpu_runtimes())
    if (runtime->vendor() == arch_info(device.arch()).vendor) return runtime;
  return nullptr;
}

Status clear_output(const GpuRuntime& runtime, const KernelCall& call, const Launch& launch) noexcept {
  return call.clear.rows != 0 ? runtime.zero(call.clear, launch.stream) : Status::success();
}

}  // namespace ckgen::inline v1::detail
