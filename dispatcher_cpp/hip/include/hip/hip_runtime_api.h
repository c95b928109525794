// HIP's host interface as far as kernel headers name it: declarations only, values as in HIP 6 and 7.
//
// Errors are hipError_t. Nothing here is defined by ckgen: a unit that calls one of these links a runtime that has it.
#pragma once

#include <cstddef>
#include <cstdint>

enum hipError_t { hipSuccess = 0, hipErrorInvalidValue = 1, hipErrorOutOfMemory = 2, hipErrorUnknown = 999 };
enum hipMemcpyKind {
  hipMemcpyHostToHost = 0,
  hipMemcpyHostToDevice = 1,
  hipMemcpyDeviceToHost = 2,
  hipMemcpyDeviceToDevice = 3,
  hipMemcpyDefault = 4
};
enum hipDeviceAttribute_t { hipDeviceAttributeMultiprocessorCount = 63, hipDeviceAttributeWarpSize = 87 };

using hipStream_t = struct ihipStream_t*;
using hipEvent_t = struct ihipEvent_t*;
using hipDevice_t = int;

struct dim3 {
  std::uint32_t x, y, z;
  __attribute__((host))
  __attribute__((device)) constexpr dim3(std::uint32_t x_ = 1, std::uint32_t y_ = 1, std::uint32_t z_ = 1)
      : x(x_), y(y_), z(z_) {}
};

// hipDeviceProp_tR0600: only the members that kernel headers read have names.
struct alignas(8) hipDeviceProp_t {
  char name[256];
  char unnamed_0[52];
  int warpSize;
  char unnamed_1[48];
  int major;
  int minor;
  char unnamed_2[20];
  int multiProcessorCount;
  char unnamed_3[768];
  char gcnArchName[256];
  char unnamed_4[56];
};
static_assert(sizeof(hipDeviceProp_t) == 1472 && offsetof(hipDeviceProp_t, gcnArchName) == 1160, "HIP's layout");
static_assert(offsetof(hipDeviceProp_t, multiProcessorCount) == 388 && offsetof(hipDeviceProp_t, major) == 360);

extern "C" {
hipError_t hipGetDevice(int* device);
hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_t* properties, int device);
hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int device);
hipError_t hipGetLastError();
hipError_t hipPeekAtLastError();
const char* hipGetErrorString(hipError_t error);
const char* hipGetErrorName(hipError_t error);
hipError_t hipDeviceSynchronize();
hipError_t hipStreamSynchronize(hipStream_t stream);
hipError_t hipEventCreate(hipEvent_t* event);
hipError_t hipEventDestroy(hipEvent_t event);
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream);
hipError_t hipEventSynchronize(hipEvent_t event);
hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t stop);
hipError_t hipMalloc(void** memory, std::size_t bytes);
hipError_t hipFree(void* memory);
hipError_t hipMemcpy(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind);
hipError_t hipMemcpyAsync(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind, hipStream_t stream);
hipError_t hipMemcpyWithStream(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind, hipStream_t stream);
hipError_t hipMemset(void* to, int value, std::size_t bytes);
hipError_t hipMemsetAsync(void* to, int value, std::size_t bytes, hipStream_t stream);
hipError_t hipExtStreamGetCUMask(hipStream_t stream, std::uint32_t size, std::uint32_t* mask);
hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, std::size_t lds = 0, hipStream_t stream = nullptr);
hipError_t __hipPopCallConfiguration(dim3* grid, dim3* block, std::size_t* lds, hipStream_t* stream);
hipError_t hipLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** args, std::size_t lds, hipStream_t stream);
hipError_t hipModuleOccupancyMaxActiveBlocks(int* blocks, const void* kernel, int block, std::size_t lds);
}

inline hipError_t hipGetDeviceProperties(hipDeviceProp_t* properties, int device) {
  return hipGetDevicePropertiesR0600(properties, device);
}
template <class T>
hipError_t hipMalloc(T** memory, std::size_t bytes) {
  return hipMalloc(reinterpret_cast<void**>(memory), bytes);
}
template <class Kernel>
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Kernel kernel, int block, std::size_t lds) {
  return hipModuleOccupancyMaxActiveBlocks(blocks, reinterpret_cast<const void*>(kernel), block, lds);
}
