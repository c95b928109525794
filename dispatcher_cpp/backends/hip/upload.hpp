// The kernel of ckgen::Upload: bytes travel to device memory as its argument, with no staging buffer and nothing to
// wait for. A graph that captured the launch keeps the bytes.
//
// The argument's layout is repeated here, so that device code does not depend on what the host side is made of; host
// units hold the two equal. C++20, for either half of a HIP compile; nothing here launches a kernel.
#pragma once

#include <cstdint>

#include <hip/hip_runtime.h>

namespace ckgen::hip {

inline constexpr int kUploadLanes = 256;

/// As ckgen::Upload: `words` dwords of `payload` go to `to`, one by each lane.
struct UploadArgs {
  std::uint32_t* to;
  std::uint32_t words;
  std::uint32_t payload[224];
};
static_assert(sizeof(UploadArgs::payload) <= kUploadLanes * sizeof(std::uint32_t));

}  // namespace ckgen::hip

/// Defines the kernel as `symbol`.
#define CKGEN_UPLOAD_KERNEL(symbol)                                                                            \
  extern "C" __global__ void __launch_bounds__(ckgen::hip::kUploadLanes) symbol(ckgen::hip::UploadArgs args) { \
    if (threadIdx.x < args.words) args.to[threadIdx.x] = args.payload[threadIdx.x];                            \
  }
