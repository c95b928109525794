// CUTLASS's headers for a C++ compiler that knows no CUDA: what its host code needs of one. Before anything of CUTLASS,
// in units that nvcc does not compile; they take -fpermissive, as device code in the headers names what is not there.
#pragma once

#ifndef __CUDACC__

// clang-format off: the order is what this file is about
#include <cuda.h>
#include <cuda_runtime.h>
#include <device_launch_parameters.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

// Called by templates of device code alone, and defined nowhere.
void __syncthreads();
void __syncwarp(unsigned mask = ~0U);
unsigned __byte_perm(unsigned low, unsigned high, unsigned selector);
int __dp4a(int a, int b, int sum);
template <class T>
T __shfl_sync(unsigned mask, T value, int lane, int width = 32);
template <class T>
T __shfl_up_sync(unsigned mask, T value, int by, int width = 32);
template <class T>
T __shfl_down_sync(unsigned mask, T value, int by, int width = 32);
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32);

namespace cutlass::arch {
int LaneId();
int SmId();
}  // namespace cutlass::arch

#include <ckgen/device_code.hpp>

// CUTLASS asks CUDA's runtime for a number of SMs that was not given: ours always is, and nothing is linked.
namespace ckgen::cutlass_host {
inline cudaError_t no_runtime() noexcept {
  return cudaErrorNotSupported;
}

/// While one lives, what CUTLASS's host code would zero on a stream is written to `to`, for the launch to do.
class Clearing {
 public:
  explicit Clearing(Clear& to) noexcept { current() = &to; }
  ~Clearing() { current() = nullptr; }
  Clearing(const Clearing&) = delete;
  Clearing& operator=(const Clearing&) = delete;

  static cudaError_t zero(void* memory, std::size_t bytes) noexcept {
    if (current() == nullptr || current()->rows != 0) return cudaErrorNotSupported;
    *current() = Clear{memory, bytes, bytes, 1};
    return cudaSuccess;
  }

 private:
  static Clear*& current() noexcept {
    static thread_local Clear* now = nullptr;
    return now;
  }
};
}  // namespace ckgen::cutlass_host
#define cudaMemsetAsync(memory, value, bytes, ...) ckgen::cutlass_host::Clearing::zero(memory, bytes)
#define cudaGetLastError() ckgen::cutlass_host::no_runtime()
#define cudaGetDevice(...) ckgen::cutlass_host::no_runtime()
#define cudaDeviceGetAttribute(...) ckgen::cutlass_host::no_runtime()

// It declares fragments of a compiler's own where a version of CUDA is named, so it comes before that name; behind it,
// TMA descriptors are real ones only where the version is 12 or newer.
#include <cutlass/arch/wmma.h>
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define CUTLASS_ENABLE_DIRECT_CUDA_DRIVER_CALL 1
#include <cutlass/cuda_host_adapter.hpp>
// clang-format on

#include <ckgen/tensor_map.hpp>

namespace ckgen::cutlass_host {

/// cuTensorMapEncodeTiled through the dispatcher, which has opened the driver: nothing is linked.
inline CUresult call_cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                                            const cuuint64_t* sizes, const cuuint64_t* strides, const cuuint32_t* box,
                                            const cuuint32_t* element_strides, CUtensorMapInterleave interleave,
                                            CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                            CUtensorMapFloatOOBfill fill) {
  static_assert(sizeof(cuuint64_t) == sizeof(std::uint64_t));
  return static_cast<CUresult>(ckgen_encode_tensor_map(map, type, rank, address, sizes, strides, box, element_strides,
                                                       interleave, swizzle, promotion, fill));
}

}  // namespace ckgen::cutlass_host

#undef CUTLASS_CUDA_DRIVER_WRAPPER_CALL
#define CUTLASS_CUDA_DRIVER_WRAPPER_CALL(function) ckgen::cutlass_host::call_##function

#endif
