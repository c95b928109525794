#include "src/gpu/cuda.hpp"

#include <cstdio>
#include <cstdlib>

#include <ckgen/tensor_map.hpp>

#include "src/gpu/opened.hpp"

namespace ckgen::inline v1::detail {
namespace {

// CUresult.
constexpr int kCudaNotInitialized = 3;

// CUdevice_attribute and CUfunction_attribute.
constexpr int kCudaMultiprocessorCount = 16;
constexpr int kCudaMajor = 75;
constexpr int kCudaMinor = 76;
constexpr int kCudaMostSharedOfBlock = 97;
constexpr int kCudaStaticShared = 1;
constexpr int kCudaMostDynamicShared = 8;

constexpr unsigned kCudaClusterDimension = 4;  // CUlaunchAttributeID
constexpr unsigned kCudaDefaultEvent = 0;
constexpr std::uintptr_t kCudaLegacyStream = 1;

constexpr GraphCalls kCudaGraphs{{"cuStreamCreate"},
                                 {"cuStreamDestroy_v2"},
                                 {"cuStreamBeginCapture_v2"},
                                 {"cuStreamEndCapture"},
                                 {"cuGraphInstantiateWithFlags"},
                                 {"cuGraphDestroy"},
                                 {"cuEventRecordWithFlags"},
                                 {"cuGraphLaunch"},
                                 {"cuGraphExecDestroy"}};

using Address = std::uint64_t;  // CUdeviceptr

struct LaunchAttribute {  // CUlaunchAttribute
  unsigned id;
  char pad[4];
  union {
    unsigned cluster[3];
    char room[64];
  } value;
};
static_assert(sizeof(LaunchAttribute) == 72);

struct LaunchConfig {  // CUlaunchConfig
  unsigned grid[3];
  unsigned block[3];
  unsigned shared;
  void* stream;
  const LaunchAttribute* attributes;
  unsigned count;
};
static_assert(sizeof(LaunchConfig) == 56);

Address address_of(void* memory) noexcept {
  return reinterpret_cast<Address>(memory);
}

class CudaRuntime final : public OpenedRuntime {
 public:
  CudaRuntime() noexcept;

  Vendor vendor() const noexcept override { return Vendor::nvidia; }
  const char* name() const noexcept override { return "CUDA"; }
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

  template <class... Arguments>
  int encode_tensor_map(Arguments... arguments) const noexcept {
    return status_.ok() ? in_context([&] { return encode_tensor_map_(arguments...); }) : kCudaNotInitialized;
  }

 private:
  bool resolve(void* library) noexcept;
  Status query(int id, GpuProperties& out) const noexcept;
  /// What `call` answers; the driver is initialised before it and a thread that has no context gets the primary one of
  /// device 0, as CUDA's own runtime does it. Where both are done, nothing is paid for the question.
  template <class Call>
  int in_context(Call call) const noexcept {
    int code = call();
    if (code == kCudaNotInitialized && init_(0) == 0) code = call();
    if (code == kInvalidContext && enter_context()) code = call();
    return code;
  }
  bool enter_context() const noexcept override;

  int (*init_)(unsigned) = nullptr;
  int (*context_)(void**) = nullptr;
  int (*context_device_)(int*) = nullptr;
  int (*retain_primary_)(void**, int) = nullptr;
  int (*set_context_)(void*) = nullptr;
  int (*device_attribute_)(int*, int, int) = nullptr;
  int (*stream_synchronize_)(void*) = nullptr;
  int (*stream_is_captured_)(void*, int*) = nullptr;
  int (*stream_id_)(void*, unsigned long long*) = nullptr;
  int (*malloc_)(Address*, std::size_t) = nullptr;
  int (*free_)(Address) = nullptr;
  int (*to_device_)(Address, const void*, std::size_t) = nullptr;
  int (*to_host_)(void*, Address, std::size_t) = nullptr;
  int (*driver_version_)(int*) = nullptr;
  int (*device_name_)(char*, int, int) = nullptr;
  int (*device_bus_)(char*, int, int) = nullptr;
  int (*module_load_)(void**, const void*) = nullptr;
  int (*module_unload_)(void*) = nullptr;
  int (*module_function_)(void**, void*, const char*) = nullptr;
  int (*function_attribute_)(int*, int, void*) = nullptr;
  int (*set_function_attribute_)(void*, int, int) = nullptr;
  int (*launch_)(const LaunchConfig*, void*, void**, void**) = nullptr;
  int (*memset_)(Address, unsigned char, std::size_t, void*) = nullptr;
  int (*memset_2d_)(Address, std::size_t, unsigned char, std::size_t, std::size_t, void*) = nullptr;
  int (*event_create_)(void**, unsigned) = nullptr;
  int (*event_destroy_)(void*) = nullptr;
  int (*event_record_)(void*, void*) = nullptr;
  int (*event_synchronize_)(void*) = nullptr;
  int (*event_elapsed_)(float*, void*, void*) = nullptr;
  int (*encode_tensor_map_)(void*, unsigned, std::uint32_t, void*, const std::uint64_t*, const std::uint64_t*,
                            const std::uint32_t*, const std::uint32_t*, unsigned, unsigned, unsigned,
                            unsigned) = nullptr;
};

CudaRuntime::CudaRuntime() noexcept : OpenedRuntime(kCudaGraphs) {
  const char* path = std::getenv("CKGEN_CUDA_LIBRARY");
  const bool named = path != nullptr && *path != '\0';
  void* library = dlopen(named ? path : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    status_ =
        Status::error(StatusCode::no_device, "no CUDA driver: %s", named ? dlerror() : "libcuda.so.1 was not found");
  } else if (!resolve(library)) {
    status_ = Status::error(StatusCode::no_device, "the CUDA driver is not of CUDA 12 or newer: %s", dlerror());
  }
}

bool CudaRuntime::resolve(void* library) noexcept {
  find_graphs(library);
  return find(library, "cuInit", init_) && find(library, "cuCtxGetCurrent", context_) &&
         find(library, "cuCtxGetDevice", context_device_) &&
         find(library, "cuDevicePrimaryCtxRetain", retain_primary_) && find(library, "cuCtxSetCurrent", set_context_) &&
         find(library, "cuDeviceGetAttribute", device_attribute_) &&
         find(library, "cuStreamSynchronize", stream_synchronize_) &&
         find(library, "cuStreamIsCapturing", stream_is_captured_) && find(library, "cuStreamGetId", stream_id_) &&
         find(library, "cuMemAlloc_v2", malloc_) && find(library, "cuMemFree_v2", free_) &&
         find(library, "cuMemcpyHtoD_v2", to_device_) && find(library, "cuMemcpyDtoH_v2", to_host_) &&
         find(library, "cuDriverGetVersion", driver_version_) && find(library, "cuDeviceGetName", device_name_) &&
         find(library, "cuDeviceGetPCIBusId", device_bus_) && find(library, "cuModuleLoadData", module_load_) &&
         find(library, "cuModuleUnload", module_unload_) && find(library, "cuModuleGetFunction", module_function_) &&
         find(library, "cuFuncGetAttribute", function_attribute_) &&
         find(library, "cuFuncSetAttribute", set_function_attribute_) && find(library, "cuLaunchKernelEx", launch_) &&
         find(library, "cuMemsetD8Async", memset_) && find(library, "cuMemsetD2D8Async", memset_2d_) &&
         find(library, "cuEventCreate", event_create_) && find(library, "cuEventDestroy_v2", event_destroy_) &&
         find(library, "cuEventRecord", event_record_) && find(library, "cuEventSynchronize", event_synchronize_) &&
         find(library, "cuEventElapsedTime", event_elapsed_) &&
         find(library, "cuTensorMapEncodeTiled", encode_tensor_map_);
}

bool CudaRuntime::enter_context() const noexcept {
  // Retained once and never released: other threads and CUDA's own runtime use it too.
  struct Primary {
    void* context = nullptr;
    int code;
    explicit Primary(const CudaRuntime& of) noexcept : code(of.retain_primary_(&context, 0)) {}
  };
  static const Primary primary(*this);
  return primary.code == 0 && set_context_(primary.context) == 0;
}

Status CudaRuntime::current_device(int& id) const noexcept {
  if (!status_.ok()) return status_;
  static const int initialised = init_(0);
  if (initialised != 0) return failed("cuInit", initialised);
  // Asked first, as cuCtxGetDevice of a thread without a context is an error to tools that look for such.
  void* context = nullptr;
  if (const int code = context_(&context); code != 0) return failed("cuCtxGetCurrent", code);
  if (context == nullptr && !enter_context())
    return Status::error(StatusCode::no_device, "CUDA device 0 gives no primary context");
  return done("cuCtxGetDevice", context_device_(&id), StatusCode::no_device);
}

Status CudaRuntime::properties(int id, GpuProperties& out) const noexcept {
  if (!status_.ok()) return status_;
  return known(id, out, [this](int of, GpuProperties& entry) { return query(of, entry); });
}

Status CudaRuntime::query(int id, GpuProperties& out) const noexcept {
  int count = 0;
  int major = 0;
  int minor = 0;
  for (const auto& [attribute, to] :
       {std::pair{kCudaMultiprocessorCount, &count}, {kCudaMajor, &major}, {kCudaMinor, &minor}}) {
    if (const int code = device_attribute_(to, attribute, id); code != 0) return failed("cuDeviceGetAttribute", code);
  }
  if (count <= 0 || major <= 0) return Status::error(StatusCode::no_device, "CUDA device %d names no arch", id);
  std::snprintf(out.arch, sizeof out.arch, "sm_%d%d", major, minor);
  for (const ArchInfo& info : arch_table) {
    if (info.vendor == vendor() && info.compute_capability == 10 * major + minor)
      std::snprintf(out.arch, sizeof out.arch, "%s", info.name);
  }
  out.cu_num = static_cast<std::uint32_t>(count);
  if (device_name_(out.product, sizeof out.product, id) != 0) out.product[0] = '\0';
  return Status::success();
}

Status CudaRuntime::synchronize(void* stream) const noexcept {
  if (!status_.ok()) return status_;
  const int code = in_context([&] { return stream_synchronize_(stream); });
  return queued("cuStreamSynchronize", code, stream, StatusCode::no_device);
}

Status CudaRuntime::stream_id(void* stream, std::uint64_t& id) const noexcept {
  id = 0;
  if (!status_.ok() || reinterpret_cast<std::uintptr_t>(stream) <= kCudaLegacyStream) return status_;  // there for ever
  int is_captured = 0;
  if (const int code = in_context([&] { return stream_is_captured_(stream, &is_captured); }); code != 0)
    return queued("cuStreamIsCapturing", code, stream);
  if (is_captured != 0) return Status::success();
  unsigned long long number = 0;
  const int code = stream_id_(stream, &number);
  id = number;
  return queued("cuStreamGetId", code, stream);
}

Status CudaRuntime::allocate(std::size_t bytes, void** out) const noexcept {
  if (!status_.ok()) return status_;
  Address memory = 0;
  const int code = in_context([&] { return malloc_(&memory, bytes); });
  *out = reinterpret_cast<void*>(memory);
  return done("cuMemAlloc", code, StatusCode::no_device);
}

Status CudaRuntime::release(void* memory) const noexcept {
  if (!status_.ok()) return status_;
  return done("cuMemFree", in_context([&] { return free_(address_of(memory)); }), StatusCode::no_device);
}

Status CudaRuntime::upload(void* to, const void* from, std::size_t bytes) const noexcept {
  if (!status_.ok()) return status_;
  return done("cuMemcpyHtoD", in_context([&] { return to_device_(address_of(to), from, bytes); }));
}

Status CudaRuntime::download(void* to, const void* from, std::size_t bytes) const noexcept {
  if (!status_.ok()) return status_;
  const Address source = address_of(const_cast<void*>(from));
  return done("cuMemcpyDtoH", in_context([&] { return to_host_(to, source, bytes); }));
}

Status CudaRuntime::driver(int& version) const noexcept {
  if (!status_.ok()) return status_;
  return done("cuDriverGetVersion", driver_version_(&version));
}

Status CudaRuntime::bus(int id, BusName& out) const noexcept {
  if (!status_.ok()) return status_;
  return done("cuDeviceGetPCIBusId", device_bus_(out, sizeof out, id));
}

Status CudaRuntime::load_module(const void* image, void** module) const noexcept {
  if (!status_.ok()) return status_;
  return done("cuModuleLoadData", in_context([&] { return module_load_(module, image); }));
}

Status CudaRuntime::unload_module(void* module) const noexcept {
  if (!status_.ok()) return status_;
  return done("cuModuleUnload", in_context([&] { return module_unload_(module); }));
}

Status CudaRuntime::kernel(void* module, const char* symbol, void** function) const noexcept {
  if (!status_.ok()) return status_;
  if (const int code = in_context([&] { return module_function_(function, module, symbol); }); code != 0)
    return done("cuModuleGetFunction", code);
  // Blocks get more than 48 KB only where the function says so: it is said once, as all that the device has.
  int device = 0;
  int most = 0;
  int taken = 0;
  if (const int code = context_device_(&device); code != 0) return done("cuCtxGetDevice", code);
  if (const int code = device_attribute_(&most, kCudaMostSharedOfBlock, device); code != 0)
    return done("cuDeviceGetAttribute", code);
  if (const int code = function_attribute_(&taken, kCudaStaticShared, *function); code != 0)
    return done("cuFuncGetAttribute", code);
  return done("cuFuncSetAttribute", set_function_attribute_(*function, kCudaMostDynamicShared, most - taken));
}

Status CudaRuntime::zero(const Clear& clear, void* stream) const noexcept {
  if (!status_.ok()) return status_;
  if (clear.batches > 1 && clear.batch_pitch != clear.pitch * clear.rows) {
    for (std::size_t i = 0; i < clear.batches; ++i) {
      void* one = static_cast<char*>(clear.memory) + i * clear.batch_pitch;
      if (const Status status = zero({one, clear.pitch, clear.width, clear.rows}, stream); !status.ok()) return status;
    }
    return Status::success();
  }
  const std::size_t rows = clear.rows * clear.batches;
  const Address to = address_of(clear.memory);
  if (rows == 1 || clear.pitch == clear.width)
    return queued("cuMemsetD8Async", in_context([&] { return memset_(to, 0, clear.width * rows, stream); }), stream);
  return queued("cuMemsetD2D8Async",
                in_context([&] { return memset_2d_(to, clear.pitch, 0, clear.width, rows, stream); }), stream);
}

Status CudaRuntime::launch(void* function, const KernelCall& call, void* stream) const noexcept {
  if (!status_.ok()) return status_;
  LaunchAttribute cluster;
  cluster.id = kCudaClusterDimension;
  for (int i = 0; i < 3; ++i) cluster.value.cluster[i] = call.cluster[i];
  const bool has_clusters = call.cluster[0] * call.cluster[1] * call.cluster[2] != 1;
  const LaunchConfig config{{call.grid[0], call.grid[1], call.grid[2]},
                            {call.block[0], call.block[1], call.block[2]},
                            call.dynamic_lds,
                            stream,
                            &cluster,
                            has_clusters ? 1U : 0U};
  // By pointer: the driver knows where in the kernel's parameters an argument of such alignment begins.
  void* arguments[] = {const_cast<unsigned char*>(call.args)};
  const int code = in_context([&] { return launch_(&config, function, arguments, nullptr); });
  return queued("cuLaunchKernelEx", code, stream);
}

Status CudaRuntime::create_event(void** event) const noexcept {
  if (!status_.ok()) return status_;
  return done("cuEventCreate", in_context([&] { return event_create_(event, kCudaDefaultEvent); }));
}

Status CudaRuntime::release_event(void* event) const noexcept {
  if (!status_.ok()) return status_;
  return done("cuEventDestroy", in_context([&] { return event_destroy_(event); }));
}

Status CudaRuntime::record(void* event, void* stream) const noexcept {
  if (!status_.ok()) return status_;
  return done("cuEventRecord", in_context([&] { return event_record_(event, stream); }));
}

Status CudaRuntime::elapsed(void* begin, void* end, double& microseconds) const noexcept {
  if (!status_.ok()) return status_;
  if (const int code = in_context([&] { return event_synchronize_(end); }); code != 0)
    return done("cuEventSynchronize", code);
  float milliseconds = 0;
  const int code = event_elapsed_(&milliseconds, begin, end);
  microseconds = double{milliseconds} * 1000;
  return done("cuEventElapsedTime", code);
}

const CudaRuntime& the_runtime() noexcept {
  static const CudaRuntime runtime;
  return runtime;
}

}  // namespace

const GpuRuntime& cuda_runtime() noexcept {
  return the_runtime();
}

}  // namespace ckgen::inline v1::detail

extern "C" int ckgen_encode_tensor_map(void* map, unsigned type, std::uint32_t rank, void* address,
                                       const std::uint64_t* sizes, const std::uint64_t* strides,
                                       const std::uint32_t* box, const std::uint32_t* element_strides,
                                       unsigned interleave, unsigned swizzle, unsigned promotion,
                                       unsigned fill) noexcept {
  return ckgen::detail::the_runtime().encode_tensor_map(map, type, rank, address, sizes, strides, box, element_strides,
                                                        interleave, swizzle, promotion, fill);
}
