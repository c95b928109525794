// HIP's functions: memory.
#include <cstddef>

#include "runtime.hpp"

using namespace ckgen::shim;

namespace {

int allocate(void** memory, std::size_t bytes, Place place) {
  return with_runtime([&](Runtime& runtime) -> int {
    if (memory == nullptr) return kInvalidValue;
    if (const int error = runtime.streams.refuse_in_capture(); error != kSuccess) return error;
    *memory = nullptr;
    if (bytes == 0) return kSuccess;
    *memory = runtime.heap.allocate(bytes, place);
    return *memory != nullptr ? kSuccess : kOutOfMemory;
  });
}

int release(void* memory, Place place) {
  return with_runtime([&](Runtime& runtime) -> int {
    if (const int error = runtime.streams.refuse_in_capture(); error != kSuccess) return error;
    return memory == nullptr || runtime.heap.release(memory, place) ? kSuccess : kInvalidValue;
  });
}

/// On a stream; a call that waits for its end is refused in a capture.
int submit(const Operation& operation, void* stream, bool waits) {
  return with_runtime([&](Runtime& runtime) {
    if (waits) {
      if (const int error = runtime.streams.refuse_in_capture(); error != kSuccess) return error;
    }
    return runtime.streams.submit(static_cast<Stream*>(stream), operation);
  });
}

}  // namespace

CKGEN_HIP int hipMalloc(void** memory, std::size_t bytes) {
  return allocate(memory, bytes, Place::device);
}

CKGEN_HIP int hipFree(void* memory) {
  return release(memory, Place::device);
}

CKGEN_HIP int hipHostMalloc(void** memory, std::size_t bytes, unsigned) {
  return allocate(memory, bytes, Place::pinned);
}

CKGEN_HIP int hipHostFree(void* memory) {
  return release(memory, Place::pinned);
}

/// No function of HIP: launches from now on report what wrote those bytes last; no bytes: no longer.
CKGEN_HIP int ckgen_emu_hip_watch(const void* memory, std::size_t bytes) {
  return with_runtime([&](Runtime& runtime) {
    runtime.executor.watch(memory, bytes);
    return kSuccess;
  });
}

CKGEN_HIP int hipMemcpy(void* to, const void* from, std::size_t bytes, int kind) {
  return submit(CopyOperation{to, from, bytes, kind}, nullptr, true);
}

CKGEN_HIP int hipMemcpyWithStream(void* to, const void* from, std::size_t bytes, int kind, void* stream) {
  return submit(CopyOperation{to, from, bytes, kind}, stream, true);
}

CKGEN_HIP int hipMemcpyAsync(void* to, const void* from, std::size_t bytes, int kind, void* stream) {
  return submit(CopyOperation{to, from, bytes, kind}, stream, false);
}

CKGEN_HIP int hipMemset(void* memory, int value, std::size_t bytes) {
  return submit(FillOperation{memory, bytes, bytes, 1, value}, nullptr, true);
}

CKGEN_HIP int hipMemsetAsync(void* memory, int value, std::size_t bytes, void* stream) {
  return submit(FillOperation{memory, bytes, bytes, 1, value}, stream, false);
}

CKGEN_HIP int hipMemset2D(void* memory, std::size_t pitch, int value, std::size_t width, std::size_t rows) {
  return submit(FillOperation{memory, pitch, width, rows, value}, nullptr, true);
}

CKGEN_HIP int hipMemset2DAsync(void* memory, std::size_t pitch, int value, std::size_t width, std::size_t rows,
                               void* stream) {
  return submit(FillOperation{memory, pitch, width, rows, value}, stream, false);
}
