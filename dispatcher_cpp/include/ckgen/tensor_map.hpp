// Descriptors of tensors in memory, which the arguments of some NVIDIA kernels hold.
#pragma once

#include <cstdint>

#include <ckgen/export.h>

extern "C" {

/// cuTensorMapEncodeTiled of NVIDIA's driver, with its parameters and its result: 0, or a CUresult; 3 where there is no
/// driver. `map` are 128 bytes aligned to 64, which depend on the parameters alone. Thread-safe.
CKGEN_API int ckgen_encode_tensor_map(void* map, unsigned type, std::uint32_t rank, void* address,
                                      const std::uint64_t* sizes, const std::uint64_t* strides,
                                      const std::uint32_t* box, const std::uint32_t* element_strides,
                                      unsigned interleave, unsigned swizzle, unsigned promotion,
                                      unsigned fill) noexcept;
}
