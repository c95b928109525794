// The HIP runtime, found at run time: nothing is linked, and a machine without it is a plain answer.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ckgen/device_code.hpp>
#include <ckgen/status.hpp>

namespace ckgen::inline v1::detail {

struct GpuProperties {
  char gfx[40];
  std::uint32_t cu_num;
};

/// One per process, opened at first use. Thread-safe. Every Status names the HIP call that failed.
class HipLoader {
 public:
  static HipLoader& instance() noexcept;

  /// Whether the runtime was found; its message says what the loader answered.
  const Status& status() const noexcept { return status_; }

  Status current_device(int& id) const noexcept;
  /// Arch name (cut at ':') and multiprocessors of a device, asked once per id.
  Status properties(int id, GpuProperties& out) const noexcept;
  Status synchronize(void* stream) const noexcept;
  Status allocate(std::size_t bytes, void** out) const noexcept;
  Status release(void* memory) const noexcept;

  /// `image`: a code object, which must outlive the module. Loads onto the thread's current device.
  Status load_module(const void* image, void** module) const noexcept;
  Status unload_module(void* module) const noexcept;
  /// A kernel of a module by its name.
  Status kernel(void* module, const char* symbol, void** function) const noexcept;
  Status zero(const Clear& clear, void* stream) const noexcept;
  /// `call` as it is: limits are the caller's to check.
  Status launch(void* function, const KernelCall& call, void* stream) const noexcept;

 private:
  HipLoader() noexcept;

  Status query(int id, GpuProperties& out) const noexcept;

  Status status_;
  int (*get_device_)(int*) = nullptr;
  int (*get_attribute_)(int*, int, int) = nullptr;
  int (*get_properties_)(void*, int) = nullptr;
  int (*stream_synchronize_)(void*) = nullptr;
  int (*malloc_)(void**, std::size_t) = nullptr;
  int (*free_)(void*) = nullptr;
  int (*module_load_)(void**, const void*) = nullptr;
  int (*module_unload_)(void*) = nullptr;
  int (*module_function_)(void**, void*, const char*) = nullptr;
  int (*module_launch_)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                        void**) = nullptr;
  int (*memset_)(void*, int, std::size_t, void*) = nullptr;
  int (*memset_2d_)(void*, std::size_t, int, std::size_t, std::size_t, void*) = nullptr;
};

}  // namespace ckgen::inline v1::detail
