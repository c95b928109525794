// AMD's runtime: libamdhip64.so, or the file that CKGEN_HIP_LIBRARY names when it is first asked.
#pragma once

#include "src/gpu/runtime.hpp"

namespace ckgen::inline v1::detail {

const GpuRuntime& hip_runtime() noexcept;

}  // namespace ckgen::inline v1::detail
