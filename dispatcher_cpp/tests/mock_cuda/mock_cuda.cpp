// A CUDA driver of five devices, as far as ckgen asks one: the ABI of CUDA 12 and 13. Records what it is told to
// launch. CUDA_VISIBLE_DEVICES has numbers of those that a process sees.
#include <elf.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "record.hpp"

using namespace mock_cuda;

namespace {

struct MockDevice {
  int major, minor, sms;
  const char *arch, *product;
};

constexpr MockDevice kDevices[] = {{9, 0, 132, "sm_90a", "Mock 0"},
                                   {9, 0, 114, "sm_90a", "Mock 1"},
                                   {8, 9, 142, "sm_89", "Mock 2"},
                                   {9, 0, 132, "sm_90a", "NVIDIA H100 80GB HBM3"},
                                   {9, 0, 132, "sm_90a", "NVIDIA H200"}};
constexpr int kCount = static_cast<int>(std::size(kDevices));
constexpr std::size_t kArgs = 4096;
constexpr int kStatic = 1024;
constexpr int kMost = 232448;
constexpr int kUsual = 49152;

struct Attribute {
  unsigned id;
  char pad[4];
  unsigned value[16];
};

struct Config {
  unsigned grid[3], block[3], shared;
  void* stream;
  Attribute* attributes;
  unsigned count;
};

int contexts[kCount];
// Of the program's own block: GCC 12's ThreadSanitizer takes what glibc allocates for a library that is opened for
// another one's where it happens to begin 16 bytes into a page, and ends the process.
[[gnu::tls_model("initial-exec")]] thread_local int current = -1;

struct Seen {
  int count = 0;
  const MockDevice* devices[kCount] = {};
};

/// By ordinal; what CUDA_VISIBLE_DEVICES says when this is first asked.
const Seen& seen() {
  static const Seen found = [] {
    Seen of;
    const char* text = std::getenv("CUDA_VISIBLE_DEVICES");
    if (text == nullptr) text = "0,1,2,3,4";
    for (char* end = nullptr; of.count < kCount; text = end + 1) {
      const long number = std::strtol(text, &end, 10);
      if (end == text || number < 0 || number >= kCount) break;
      of.devices[of.count++] = &kDevices[number];
      if (*end != ',') break;
    }
    return of;
  }();
  return found;
}

bool is_cubin(const char* image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof header);
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_machine == EM_CUDA;
}

}  // namespace

namespace mock_cuda {

Record record;  // all zeros

void submit(void* stream, std::function<void()> work) {
  const auto capture = record.captures.find(stream);
  if (capture != record.captures.end())
    capture->second.push_back(std::move(work));
  else
    work();
}

int refused(const char* call) {
  if (const int code = record.told_to_fail(call)) return code;
  if (!record.initialized) return kNotInitialized;
  return current < 0 ? kInvalidContext : 0;
}

std::uint64_t number_of_thread() {
  return reinterpret_cast<std::uint64_t>(&current);
}

}  // namespace mock_cuda

extern "C" {

int cuInit(unsigned) {
  const std::lock_guard lock(record.mutex);
  if (const int code = record.told_to_fail("cuInit")) return code;
  record.initialized = true;
  ++record.counts.inits;
  return 0;
}

int cuDeviceGetCount(int* count) {
  *count = seen().count;
  return 0;
}

int cuCtxGetCurrent(void** context) {
  const std::lock_guard lock(record.mutex);
  if (const int code = record.told_to_fail("cuCtxGetCurrent")) return code;
  if (!record.initialized) return kNotInitialized;
  *context = current < 0 ? nullptr : &contexts[current];
  return 0;
}

int cuCtxGetDevice(int* device) {
  const std::lock_guard lock(record.mutex);
  if (const int code = refused("cuCtxGetDevice")) return code;
  *device = current;
  return 0;
}

int cuDevicePrimaryCtxRetain(void** context, int device) {
  const std::lock_guard lock(record.mutex);
  if (const int code = record.told_to_fail("cuDevicePrimaryCtxRetain")) return code;
  if (device < 0 || device >= seen().count) return kInvalidDevice;
  ++record.counts.retains;
  *context = &contexts[device];
  return 0;
}

int cuCtxSetCurrent(void* context) {
  current = context == nullptr ? -1 : static_cast<int>(static_cast<int*>(context) - contexts);
  return 0;
}

int cuDeviceGetAttribute(int* value, int attribute, int device) {
  if (device < 0 || device >= seen().count) return kInvalidDevice;
  const MockDevice& of = *seen().devices[device];
  switch (attribute) {
    case 16: *value = of.sms; return 0;
    case 75: *value = of.major; return 0;
    case 76: *value = of.minor; return 0;
    case 97: *value = kMost; return 0;
    default: return kInvalidValue;
  }
}

int cuMemAlloc_v2(std::uint64_t* memory, std::size_t bytes) {
  const std::lock_guard lock(record.mutex);
  if (const int code = refused("cuMemAlloc")) return code;
  *memory = reinterpret_cast<std::uint64_t>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  return *memory == 0 ? 2 : 0;
}

int cuMemFree_v2(std::uint64_t memory) {
  const std::lock_guard lock(record.mutex);
  ++record.counts.frees;
  std::free(reinterpret_cast<void*>(memory));
  return 0;
}

int cuMemcpyHtoD_v2(std::uint64_t to, const void* from, std::size_t bytes) {
  const std::lock_guard lock(record.mutex);
  if (const int code = refused("cuMemcpyHtoD")) return code;
  if (bytes != 0) std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return 0;
}

int cuMemcpyDtoH_v2(void* to, std::uint64_t from, std::size_t bytes) {
  const std::lock_guard lock(record.mutex);
  if (const int code = refused("cuMemcpyDtoH")) return code;
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return 0;
}

int cuDriverGetVersion(int* version) {
  *version = 13000;
  return 0;
}

int cuDeviceGetName(char* name, int length, int device) {
  if (device < 0 || device >= seen().count) return kInvalidDevice;
  std::snprintf(name, static_cast<std::size_t>(length), "%s", seen().devices[device]->product);
  return 0;
}

int cuDeviceGetPCIBusId(char* text, int length, int device) {
  if (device < 0 || device >= seen().count) return kInvalidDevice;
  std::snprintf(text, static_cast<std::size_t>(length), "0000:1%td:00.0", seen().devices[device] - kDevices);
  return 0;
}

int cuModuleLoadData(void** module, const void* image) {
  const std::lock_guard lock(record.mutex);
  if (const int code = refused("cuModuleLoadData")) return code;
  const char* bytes = static_cast<const char*>(image);
  if (!is_cubin(bytes)) return kInvalidValue;
  if (text_in(bytes, seen().devices[current]->arch) == nullptr) return kNoBinaryForGpu;
  if (record.counts.loads == kModules) std::abort();
  MockModule& slot = record.modules[record.counts.loads++];
  slot = {current, bytes, true};
  *module = &slot;
  return 0;
}

int cuModuleUnload(void* module) {
  const std::lock_guard lock(record.mutex);
  if (const int code = refused("cuModuleUnload")) return code;
  MockModule& slot = *static_cast<MockModule*>(module);
  if (!slot.live || !is_cubin(slot.image)) std::abort();  // unloaded twice, or its image went before it
  slot.live = false;
  ++record.counts.unloads;
  return 0;
}

int cuModuleGetFunction(void** function, void* module, const char* symbol) {
  const std::lock_guard lock(record.mutex);
  if (const int code = refused("cuModuleGetFunction")) return code;
  const MockModule& owner = *static_cast<const MockModule*>(module);
  const char* found = text_in(owner.image, symbol);
  if (found == nullptr) return kNotFound;
  if (record.counts.functions == kFunctions) std::abort();
  MockFunction& slot = record.functions[record.counts.functions++];
  slot = {&owner, found, kUsual};
  *function = &slot;
  return 0;
}

int cuFuncGetAttribute(int* value, int attribute, void*) {
  if (attribute != 1) return kInvalidValue;
  *value = kStatic;
  return 0;
}

int cuFuncSetAttribute(void* function, int attribute, int value) {
  const std::lock_guard lock(record.mutex);
  if (const int code = refused("cuFuncSetAttribute")) return code;
  if (attribute != 8 || value + kStatic > kMost) return kInvalidValue;
  static_cast<MockFunction*>(function)->most_shared = value;
  ++record.counts.limits;
  return 0;
}

int cuLaunchKernelEx(const Config* config, void* function, void** params, void** extra) {
  const std::lock_guard lock(record.mutex);
  if (const int code = refused("cuLaunchKernelEx")) return code;
  const MockFunction& kernel = *static_cast<const MockFunction*>(function);
  if (extra != nullptr || !kernel.module->live || kernel.module->device != current) return kInvalidValue;
  if (config->shared > static_cast<unsigned>(kernel.most_shared)) return kInvalidValue;
  MockCudaLaunch& launch = record.launch;
  launch = {};
  for (unsigned& side : launch.cluster) side = 1;
  for (unsigned i = 0; i < config->count; ++i) {
    if (config->attributes[i].id != 4) return kInvalidValue;
    std::memcpy(launch.cluster, config->attributes[i].value, sizeof launch.cluster);
  }
  for (int i = 0; i < 3; ++i) {
    launch.grid[i] = config->grid[i];
    launch.block[i] = config->block[i];
    if (config->grid[i] % launch.cluster[i] != 0) return kInvalidValue;
  }
  launch.shared = config->shared;
  launch.stream = config->stream;
  launch.device = current;
  launch.sequence = record.counts.sequence;
  launch.aligned = reinterpret_cast<std::uintptr_t>(params[0]) % 128 == 0;
  std::strncpy(launch.symbol, kernel.symbol, sizeof launch.symbol - 1);
  std::memcpy(launch.args, params[0], sizeof launch.args);
  std::array<unsigned char, kArgs> args;
  std::memcpy(args.data(), params[0], kArgs);
  submit(config->stream, [args] {
    ++record.counts.launches;
    MockCudaRun run;
    std::memcpy(&run, args.data(), sizeof run);
    if (run.magic == kMockCudaRun) run.kernel(args.data());
  });
  return 0;
}

int cuMemsetD8Async(std::uint64_t memory, unsigned char value, std::size_t bytes, void* stream) {
  const std::lock_guard lock(record.mutex);
  if (const int code = refused("cuMemsetD8Async")) return code;
  submit(stream, [=] {
    std::memset(reinterpret_cast<void*>(memory), value, bytes);
    ++record.counts.clears;
  });
  return 0;
}

int cuMemsetD2D8Async(std::uint64_t memory, std::size_t pitch, unsigned char value, std::size_t width,
                      std::size_t height, void* stream) {
  const std::lock_guard lock(record.mutex);
  if (const int code = refused("cuMemsetD2D8Async")) return code;
  submit(stream, [=] {
    for (std::size_t row = 0; row < height; ++row)
      std::memset(reinterpret_cast<char*>(memory) + row * pitch, value, width);
    ++record.counts.clears;
  });
  return 0;
}

int cuTensorMapEncodeTiled(void* map, unsigned type, std::uint32_t rank, void* address, const std::uint64_t*,
                           const std::uint64_t*, const std::uint32_t*, const std::uint32_t*, unsigned, unsigned,
                           unsigned, unsigned) {
  const std::lock_guard lock(record.mutex);
  if (const int code = record.told_to_fail("cuTensorMapEncodeTiled")) return code;
  std::memset(map, 0, 128);
  std::memcpy(map, &address, sizeof address);
  static_cast<unsigned char*>(map)[8] = static_cast<unsigned char>(type);
  static_cast<unsigned char*>(map)[9] = static_cast<unsigned char>(rank);
  ++record.counts.maps;
  return 0;
}

MockCudaCounts mock_cuda_counts() {
  const std::lock_guard lock(record.mutex);
  return record.counts;
}

MockCudaLaunch mock_cuda_last_launch() {
  const std::lock_guard lock(record.mutex);
  return record.launch;
}

void mock_cuda_fail(const char* call, int code) {
  const std::lock_guard lock(record.mutex);
  record.failing.set(call, code);
}

void mock_cuda_enter(int device) {
  current = device;
}

}  // extern "C"
