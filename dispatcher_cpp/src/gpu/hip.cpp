#include "src/gpu/hip.hpp"

#include <cstdlib>
#include <cstring>

#include "src/gpu/opened.hpp"

namespace ckgen::inline v1::detail {
namespace {

// hipDeviceProp_tR0600, which ROCm 6 and 7 fill: 1472 bytes, gcnArchName[256] at 1160. hipDeviceAttribute_t 63.
constexpr std::size_t kPropertiesRoom = 4096;
constexpr std::size_t kArchNameOffset = 1160;
constexpr std::size_t kArchNameSize = 256;
constexpr int kMultiprocessorCount = 63;

constexpr GraphCalls kHipGraphs{
    {"hipStreamCreateWithFlags"},     {"hipStreamDestroy"}, {"hipStreamBeginCapture"},   {"hipStreamEndCapture"},
    {"hipGraphInstantiateWithFlags"}, {"hipGraphDestroy"},  {"hipEventRecordWithFlags"}, {"hipGraphLaunch"},
    {"hipGraphExecDestroy"}};

// hipMemcpyKind.
constexpr int kToDevice = 1;
constexpr int kToHost = 2;

// HIP_LAUNCH_PARAM_*: the keys of hipModuleLaunchKernel's `extra`.
constexpr std::uintptr_t kBufferPointer = 1;
constexpr std::uintptr_t kBufferSize = 2;
constexpr std::uintptr_t kEnd = 3;

class HipRuntime final : public OpenedRuntime {
 public:
  HipRuntime() noexcept;

  Vendor vendor() const noexcept override { return Vendor::amd; }
  const char* name() const noexcept override { return "HIP"; }
  Status current_device(int& id) const noexcept override;
  Status properties(int id, GpuProperties& out) const noexcept override;
  Status synchronize(void* stream) const noexcept override;
  Status stream_id(void* stream, std::uint64_t& id) const noexcept override;
  Status allocate(std::size_t bytes, void** out) const noexcept override;
  Status release(void* memory) const noexcept override;
  Status upload(void* to, const void* from, std::size_t bytes) const noexcept override;
  Status download(void* to, const void* from, std::size_t bytes) const noexcept override;
  Status driver(int& version) const noexcept override;
  Status bus(int id, BusName& out) const noexcept override;
  Status load_module(const void* image, void** module) const noexcept override;
  Status unload_module(void* module) const noexcept override;
  Status kernel(void* module, const char* symbol, void** function) const noexcept override;
  Status zero(const Clear& clear, void* stream) const noexcept override;
  Status launch(void* function, const KernelCall& call, void* stream) const noexcept override;
  Status create_event(void** event) const noexcept override;
  Status release_event(void* event) const noexcept override;
  Status record(void* event, void* stream) const noexcept override;
  Status elapsed(void* begin, void* end, double& microseconds) const noexcept override;

 private:
  Status query(int id, GpuProperties& out) const noexcept;

  int (*get_device_)(int*) = nullptr;
  int (*get_attribute_)(int*, int, int) = nullptr;
  int (*get_properties_)(void*, int) = nullptr;
  int (*stream_synchronize_)(void*) = nullptr;
  int (*malloc_)(void**, std::size_t) = nullptr;
  int (*free_)(void*) = nullptr;
  int (*copy_)(void*, const void*, std::size_t, int) = nullptr;
  int (*driver_version_)(int*) = nullptr;
  int (*device_bus_)(char*, int, int) = nullptr;
  int (*module_load_)(void**, const void*) = nullptr;
  int (*module_unload_)(void*) = nullptr;
  int (*module_function_)(void**, void*, const char*) = nullptr;
  int (*module_launch_)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                        void**) = nullptr;
  int (*memset_)(void*, int, std::size_t, void*) = nullptr;
  int (*memset_2d_)(void*, std::size_t, int, std::size_t, std::size_t, void*) = nullptr;
  int (*event_create_)(void**) = nullptr;
  int (*event_destroy_)(void*) = nullptr;
  int (*event_record_)(void*, void*) = nullptr;
  int (*event_synchronize_)(void*) = nullptr;
  int (*event_elapsed_)(float*, void*, void*) = nullptr;
};

HipRuntime::HipRuntime() noexcept : OpenedRuntime(kHipGraphs) {
  const char* path = std::getenv("CKGEN_HIP_LIBRARY");
  const bool named = path != nullptr && *path != '\0';
  void* library = dlopen(named ? path : "libamdhip64.so", RTLD_NOW | RTLD_LOCAL);
  for (const char* name : {"libamdhip64.so.7", "libamdhip64.so.6"}) {
    if (library == nullptr && !named) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  if (library == nullptr) {
    status_ =
        Status::error(StatusCode::no_device, "no HIP runtime: %s", named ? dlerror() : "libamdhip64.so was not found");
    return;
  }
  const bool found =
      find(library, "hipGetDevice", get_device_) && find(library, "hipDeviceGetAttribute", get_attribute_) &&
      find(library, "hipGetDevicePropertiesR0600", get_properties_) &&
      find(library, "hipStreamSynchronize", stream_synchronize_) && find(library, "hipMalloc", malloc_) &&
      find(library, "hipFree", free_) && find(library, "hipMemcpy", copy_) &&
      find(library, "hipModuleLoadData", module_load_) && find(library, "hipModuleUnload", module_unload_) &&
      find(library, "hipModuleGetFunction", module_function_) &&
      find(library, "hipModuleLaunchKernel", module_launch_) && find(library, "hipMemsetAsync", memset_) &&
      find(library, "hipMemset2DAsync", memset_2d_) && find(library, "hipEventCreate", event_create_) &&
      find(library, "hipEventDestroy", event_destroy_) && find(library, "hipEventRecord", event_record_) &&
      find(library, "hipEventSynchronize", event_synchronize_) && find(library, "hipEventElapsedTime", event_elapsed_);
  find(library, "hipDriverGetVersion", driver_version_);  // nothing needs these
  find(library, "hipDeviceGetPCIBusId", device_bus_);
  find_graphs(library);
  if (!found) status_ = Status::error(StatusCode::no_device, "the HIP runtime is not ROCm 6 or newer: %s", dlerror());
}

Status HipRuntime::current_device(int& id) const noexcept {
  if (!status_.ok()) return status_;
  const int code = get_device_(&id);
  return code == 0 ? Status::success() : failed("hipGetDevice", code);
}

Status HipRuntime::properties(int id, GpuProperties& out) const noexcept {
  if (!status_.ok()) return status_;
  return known(id, out, [this](int of, GpuProperties& entry) { return query(of, entry); });
}

Status HipRuntime::query(int id, GpuProperties& out) const noexcept {
  int count = 0;
  if (const int code = get_attribute_(&count, kMultiprocessorCount, id); code != 0)
    return failed("hipDeviceGetAttribute", code);
  alignas(16) char properties[kPropertiesRoom] = {};
  if (const int code = get_properties_(properties, id); code != 0) return failed("hipGetDevicePropertiesR0600", code);
  const char* name = properties + kArchNameOffset;
  std::size_t length = strnlen(name, kArchNameSize);
  if (const void* colon = std::memchr(name, ':', length))
    length = static_cast<std::size_t>(static_cast<const char*>(colon) - name);
  if (length == 0 || length >= sizeof out.arch || count <= 0 || std::strncmp(name, "gfx", 3) != 0)
    return Status::error(StatusCode::no_device, "HIP device %d names no gfx arch", id);
  std::memcpy(out.arch, name, length);
  out.arch[length] = '\0';
  const std::size_t product = strnlen(properties, sizeof out.product - 1);  // the struct begins with it
  std::memcpy(out.product, properties, product);
  out.product[product] = '\0';
  out.cu_num = static_cast<std::uint32_t>(count);
  return Status::success();
}

Status HipRuntime::synchronize(void* stream) const noexcept {
  if (!status_.ok()) return status_;
  return queued("hipStreamSynchronize", stream_synchronize_(stream), stream, StatusCode::no_device);
}

Status HipRuntime::stream_id(void* stream, std::uint64_t& id) const noexcept {
  static_cast<void>(stream);
  id = 0;
  return status_;
}

Status HipRuntime::allocate(std::size_t bytes, void** out) const noexcept {
  if (!status_.ok()) return status_;
  const int code = malloc_(out, bytes);
  return code == 0 ? Status::success() : failed("hipMalloc", code);
}

Status HipRuntime::release(void* memory) const noexcept {
  if (!status_.ok()) return status_;
  const int code = free_(memory);
  return code == 0 ? Status::success() : failed("hipFree", code);
}

Status HipRuntime::upload(void* to, const void* from, std::size_t bytes) const noexcept {
  if (!status_.ok()) return status_;
  return done("hipMemcpy", copy_(to, from, bytes, kToDevice));
}

Status HipRuntime::download(void* to, const void* from, std::size_t bytes) const noexcept {
  if (!status_.ok()) return status_;
  return done("hipMemcpy", copy_(to, from, bytes, kToHost));
}

Status HipRuntime::driver(int& version) const noexcept {
  if (!status_.ok()) return status_;
  version = 0;
  return driver_version_ == nullptr ? Status::success() : done("hipDriverGetVersion", driver_version_(&version));
}

Status HipRuntime::bus(int id, BusName& out) const noexcept {
  if (!status_.ok()) return status_;
  out[0] = '\0';
  return device_bus_ == nullptr ? Status::success() : done("hipDeviceGetPCIBusId", device_bus_(out, sizeof out, id));
}

Status HipRuntime::load_module(const void* image, void** module) const noexcept {
  if (!status_.ok()) return status_;
  return done("hipModuleLoadData", module_load_(module, image));
}

Status HipRuntime::unload_module(void* module) const noexcept {
  if (!status_.ok()) return status_;
  return done("hipModuleUnload", module_unload_(module));
}

Status HipRuntime::kernel(void* module, const char* symbol, void** function) const noexcept {
  if (!status_.ok()) return status_;
  return done("hipModuleGetFunction", module_function_(function, module, symbol));
}

Status HipRuntime::zero(const Clear& clear, void* stream) const noexcept {
  if (!status_.ok()) return status_;
  if (clear.batches > 1 && clear.batch_pitch != clear.pitch * clear.rows) {
    for (std::size_t i = 0; i < clear.batches; ++i) {
      void* one = static_cast<char*>(clear.memory) + i * clear.batch_pitch;
      if (const Status status = zero({one, clear.pitch, clear.width, clear.rows}, stream); !status.ok()) return status;
    }
    return Status::success();
  }
  const std::size_t rows = clear.rows * clear.batches;
  if (rows == 1 || clear.pitch == clear.width)
    return queued("hipMemsetAsync", memset_(clear.memory, 0, clear.width * rows, stream), stream);
  return queued("hipMemset2DAsync", memset_2d_(clear.memory, clear.pitch, 0, clear.width, rows, stream), stream);
}

Status HipRuntime::launch(void* function, const KernelCall& call, void* stream) const noexcept {
  if (!status_.ok()) return status_;
  std::size_t size = call.args_size;
  void* extra[] = {reinterpret_cast<void*>(kBufferPointer), const_cast<unsigned char*>(call.args),
                   reinterpret_cast<void*>(kBufferSize), &size, reinterpret_cast<void*>(kEnd)};
  const int code = module_launch_(function, call.grid[0], call.grid[1], call.grid[2], call.block[0], call.block[1],
                                  call.block[2], call.dynamic_lds, stream, nullptr, extra);
  return queued("hipModuleLaunchKernel", code, stream);
}

Status HipRuntime::create_event(void** event) const noexcept {
  if (!status_.ok()) return status_;
  return done("hipEventCreate", event_create_(event));
}

Status HipRuntime::release_event(void* event) const noexcept {
  if (!status_.ok()) return status_;
  return done("hipEventDestroy", event_destroy_(event));
}

Status HipRuntime::record(void* event, void* stream) const noexcept {
  if (!status_.ok()) return status_;
  return done("hipEventRecord", event_record_(event, stream));
}

Status HipRuntime::elapsed(void* begin, void* end, double& microseconds) const noexcept {
  if (!status_.ok()) return status_;
  if (const int code = event_synchronize_(end); code != 0) return done("hipEventSynchronize", code);
  float milliseconds = 0;
  const int code = event_elapsed_(&milliseconds, begin, end);
  microseconds = double{milliseconds} * 1000;
  return done("hipEventElapsedTime", code);
}

}  // namespace

const GpuRuntime& hip_runtime() noexcept {
  static const HipRuntime runtime;
  return runtime;
}

}  // namespace ckgen::inline v1::detail
