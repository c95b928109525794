// NVIDIA's driver: libcuda.so.1, or the file that CKGEN_CUDA_LIBRARY names when it is first asked.
#pragma once

#include "src/gpu/runtime.hpp"

namespace ckgen::inline v1::detail {

const GpuRuntime& cuda_runtime() noexcept;

}  // namespace ckgen::inline v1::detail
