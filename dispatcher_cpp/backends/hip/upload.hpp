// The kernel of ckgen::Upload: bytes travel to device memory as its argument, with no staging buffer and nothing to
// wait for. A graph that captured the launch keeps the bytes. C++20, for a HIP compile; nothing here launches a kernel.
#pragma once

#include <hip/hip_runtime.h>

#include <ckgen/device_code.hpp>

static_assert(ckgen::kUploadBytes <= ckgen::kUploadLanes * sizeof(std::uint32_t), "a lane moves one dword");

/// Defines the kernel as `symbol`.
#define CKGEN_UPLOAD_KERNEL(symbol)                                                                \
  extern "C" __global__ void __launch_bounds__(ckgen::kUploadLanes) symbol(ckgen::Upload upload) { \
    if (threadIdx.x < upload.words) upload.to[threadIdx.x] = upload.payload[threadIdx.x];          \
  }
