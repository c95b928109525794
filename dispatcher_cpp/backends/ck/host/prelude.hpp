// First in every host unit, before any kernel header: kernels as plain functions, HIP's host calls answered from the
// device that prepare() was asked about. Compile with `-x hip --cuda-host-only`.
//
// Nothing is left for a HIP runtime to resolve: no kernel stub, no fat binary, no registration, no hip* symbol.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

#include <ckgen/arch_data.hpp>

#include "ck/host/recorded.hpp"

// A kernel is then an ordinary function with an empty body, whose address tells which kernel an Invoker chose.
#undef __global__
#define __global__
#undef __launch_bounds__
#define __launch_bounds__(...)

namespace ckgen::ck_host {

struct Device {
  Arch arch;
  std::uint32_t cu_num;
};

/// The device that HIP's host calls of this thread are about. Initial-exec, so that a thread's first use of a library
/// that was loaded at run time allocates nothing.
[[gnu::visibility("hidden"), gnu::tls_model("initial-exec")]] inline constinit thread_local Device asked_device{
    Arch::unknown, 0};

/// Names the device for as long as it lives.
class DeviceScope {
 public:
  DeviceScope(Arch arch, std::uint32_t cu_num) noexcept : before_(asked_device) { asked_device = {arch, cu_num}; }
  ~DeviceScope() { asked_device = before_; }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  Device before_;
};

inline hipError_t get_device(int* index) {
  *index = 0;
  return hipSuccess;
}

inline hipError_t get_attribute(int* value, hipDeviceAttribute_t attribute, int) {
  const ArchInfo& arch = arch_info(asked_device.arch);
  if (attribute == hipDeviceAttributeWarpSize) {
    *value = arch.wave_size;
  } else if (attribute == hipDeviceAttributeMultiprocessorCount) {
    *value = static_cast<int>(asked_device.cu_num);
  } else {
    return hipErrorInvalidValue;
  }
  return hipSuccess;
}

inline hipError_t get_properties(hipDeviceProp_t* to, int) {
  const ArchInfo& arch = arch_info(asked_device.arch);
  to->warpSize = arch.wave_size;
  to->multiProcessorCount = static_cast<int>(asked_device.cu_num);
  std::strncpy(to->gcnArchName, arch.name, sizeof to->gcnArchName - 1);
  return hipSuccess;
}

inline const char* error_string(hipError_t error) {
  return error == hipSuccess ? "no error" : "an error of HIP";
}

/// Invokers clear C on their stream before a kernel that adds to it.
inline hipError_t note_clear(void*, int, std::size_t, hipStream_t stream) {
  reinterpret_cast<Recorded*>(stream)->clears = true;
  return hipSuccess;
}

}  // namespace ckgen::ck_host

#define hipGetDevice ::ckgen::ck_host::get_device
#define hipDeviceGetAttribute ::ckgen::ck_host::get_attribute
#define hipGetDeviceProperties ::ckgen::ck_host::get_properties
#define hipGetErrorString ::ckgen::ck_host::error_string
#define hipMemsetAsync ::ckgen::ck_host::note_clear
