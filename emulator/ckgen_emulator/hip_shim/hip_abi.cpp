#include "hip_abi.hpp"

namespace ckgen::shim {
namespace {

struct ErrorText {
  int error;
  const char* name;
  const char* text;
};

constexpr ErrorText kErrors[] = {
    {kSuccess, "hipSuccess", "no error"},
    {kInvalidValue, "hipErrorInvalidValue", "an argument is out of range"},
    {kOutOfMemory, "hipErrorOutOfMemory", "out of memory"},
    {kNotInitialized, "hipErrorNotInitialized", "the emulator is not configured; stderr says why"},
    {kInvalidConfiguration, "hipErrorInvalidConfiguration", "the grid or the workgroup cannot be launched"},
    {kInvalidDevicePointer, "hipErrorInvalidDevicePointer", "no device memory at this address"},
    {kInvalidMemcpyDirection, "hipErrorInvalidMemcpyDirection", "the memory is not where the copy's kind says"},
    {kNoDevice, "hipErrorNoDevice", "no simulated device; stderr says why"},
    {kInvalidDevice, "hipErrorInvalidDevice", "no device of this number"},
    {kInvalidImage, "hipErrorInvalidImage", "not a code object that can be executed"},
    {kNoBinaryForGpu, "hipErrorNoBinaryForGpu", "the code object is of another arch than the simulated device"},
    {kInvalidHandle, "hipErrorInvalidHandle", "no such stream, event, module, function or graph"},
    {kNotFound, "hipErrorNotFound", "the module has no kernel of this name"},
    {kLaunchOutOfResources, "hipErrorLaunchOutOfResources", "more LDS than a workgroup can have"},
    {kLaunchFailure, "hipErrorLaunchFailure", "the kernel is wrong; $CKGEN_EMULATOR_REPORT says how"},
    {kNotSupported, "hipErrorNotSupported", "not supported by the emulator"},
    {kCaptureUnsupported, "hipErrorStreamCaptureUnsupported", "not allowed while a stream is being captured"},
    {kCaptureInvalidated, "hipErrorStreamCaptureInvalidated", "an earlier call has invalidated the capture"},
    {kCaptureMerge, "hipErrorStreamCaptureMerge", "two captures would become one"},
    {kCaptureUnmatched, "hipErrorStreamCaptureUnmatched", "the capture did not begin on this stream"},
    {kCaptureUnjoined, "hipErrorStreamCaptureUnjoined", "a forked stream was not joined before the capture's end"},
    {kCaptureImplicit, "hipErrorStreamCaptureImplicit", "the default stream would wait for a captured one"},
    {kCapturedEvent, "hipErrorCapturedEvent", "the event was recorded in a capture"},
    {kUnknown, "hipErrorUnknown", "unknown error"},
};

const ErrorText* find(int error) noexcept {
  for (const ErrorText& known : kErrors) {
    if (known.error == error) return &known;
  }
  return nullptr;
}

}  // namespace

const char* error_name(int error) noexcept {
  const ErrorText* known = find(error);
  return known != nullptr ? known->name : nullptr;
}

const char* error_text(int error) noexcept {
  const ErrorText* known = find(error);
  return known != nullptr ? known->text : "unknown error";
}

}  // namespace ckgen::shim
