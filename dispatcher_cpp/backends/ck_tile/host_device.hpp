// The device that ck_tile's host code asks HIP for, answered from the call at hand: host units link no HIP.
//
// Include before any ck_tile header. ck_tile halves blocks and picks vectors by one question, "is the wave 32 wide?",
// which it puts to hipGetDeviceProperties. Thread-safe: the answer is the calling thread's own.
#pragma once

#include <hip/hip_runtime.h>

#include <ckgen/arch_data.hpp>

namespace ckgen::tile {

// Initial-exec, so that a thread's first use of a library that was loaded at run time allocates nothing.
[[gnu::visibility("hidden"), gnu::tls_model("initial-exec")]] inline constinit thread_local bool plans_for_wave32 =
    false;

/// While it lives, ck_tile's host code on this thread plans for `arch`.
class PlanFor {
 public:
  explicit PlanFor(Arch arch) noexcept : before_(plans_for_wave32) {
    plans_for_wave32 = arch_info(arch).wave_size == 32;
  }
  ~PlanFor() { plans_for_wave32 = before_; }
  PlanFor(const PlanFor&) = delete;
  PlanFor& operator=(const PlanFor&) = delete;

 private:
  bool before_;
};

inline hipError_t planned_device(int* device) noexcept {
  *device = 0;
  return hipSuccess;
}

inline hipError_t planned_properties(hipDeviceProp_t* properties, int) noexcept {
  properties->major = plans_for_wave32 ? 11 : 9;
  return hipSuccess;
}

}  // namespace ckgen::tile

#if !defined(__HIP_DEVICE_COMPILE__)
#undef hipGetDevice
#undef hipGetDeviceProperties
#define hipGetDevice ::ckgen::tile::planned_device
#define hipGetDeviceProperties ::ckgen::tile::planned_properties
#endif
