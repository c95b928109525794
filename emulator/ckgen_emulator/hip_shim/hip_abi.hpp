// The numbers of HIP 6 and 7 that the shim answers with: errors, device attributes, places in hipDeviceProp_tR0600.
#pragma once

#include <cstddef>

/// Puts a function into the library's interface; everything else is hidden.
#define CKGEN_HIP extern "C" __attribute__((visibility("default")))

namespace ckgen::shim {

enum Error : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kInvalidConfiguration = 9,
  kInvalidDevicePointer = 17,
  kInvalidMemcpyDirection = 21,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kNoBinaryForGpu = 209,
  kInvalidHandle = 400,
  kNotFound = 500,
  kLaunchOutOfResources = 701,
  kLaunchFailure = 719,
  kNotSupported = 801,
  kCaptureUnsupported = 900,
  kCaptureInvalidated = 901,
  kCaptureMerge = 902,
  kCaptureUnmatched = 903,
  kCaptureUnjoined = 904,
  kCaptureImplicit = 906,
  kCapturedEvent = 907,
  kUnknown = 999,
};

/// HIP's name of an error; null for a number that the shim does not answer with.
const char* error_name(int error) noexcept;
/// What it means, as a sentence part.
const char* error_text(int error) noexcept;

enum MemcpyKind : int { kHostToHost = 0, kHostToDevice = 1, kDeviceToHost = 2, kDeviceToDevice = 3, kAnyToAny = 4 };
enum CaptureMode : int { kGlobalMode = 0, kThreadLocalMode = 1, kRelaxedMode = 2 };
enum CaptureStatus : int { kNotCapturing = 0, kCapturing = 1, kInvalidated = 2 };
constexpr unsigned kNonBlocking = 1;  // hipStreamNonBlocking

enum Attribute : int {
  kClockRate = 5,
  kL2CacheSize = 19,
  kComputeCapabilityMajor = 23,
  kMaxBlockDimX = 26,
  kMaxBlockDimZ = 28,
  kMaxGridDimX = 29,
  kMaxGridDimZ = 31,
  kMaxThreadsPerBlock = 56,
  kMaxThreadsPerMultiProcessor = 57,
  kComputeCapabilityMinor = 61,
  kMultiprocessorCount = 63,
  kMaxSharedMemoryPerBlock = 74,
  kSharedMemPerMultiprocessor = 76,
  kWarpSize = 87,
  kNumberOfXccs = 10018,
};

/// Byte offsets in hipDeviceProp_tR0600.
namespace property {
constexpr std::size_t kSize = 1472;
constexpr std::size_t kName = 0, kTotalGlobalMem = 288, kSharedMemPerBlock = 296, kRegsPerBlock = 304, kWarpSize = 308,
                      kMaxThreadsPerBlock = 320, kMaxThreadsDim = 324, kMaxGridSize = 336, kClockRate = 348,
                      kMajor = 360, kMinor = 364, kMultiProcessorCount = 388, kConcurrentKernels = 576,
                      kL2CacheSize = 616, kMaxThreadsPerMultiProcessor = 624, kSharedMemPerMultiprocessor = 640,
                      kSharedMemPerBlockOptin = 696, kGcnArchName = 1160, kMaxSharedMemoryPerMultiProcessor = 1416;
}  // namespace property

}  // namespace ckgen::shim
