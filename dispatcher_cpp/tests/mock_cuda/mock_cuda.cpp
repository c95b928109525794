// A CUDA driver of five devices, as far as ckgen asks one: the ABI of CUDA 12 and 13. Records what it is told to
// launch. CUDA_VISIBLE_DEVICES has numbers of those that a process sees.
#include "mock_cuda.hpp"

#include <elf.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

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
constexpr int kInvalidValue = 1;
constexpr int kNotInitialized = 3;
constexpr int kInvalidDevice = 101;
constexpr int kInvalidContext = 201;
constexpr int kNoBinaryForGpu = 209;
constexpr int kIllegalState = 401;
constexpr int kNotFound = 500;
constexpr int kCaptureUnsupported = 900;
constexpr int kModules = 64;
constexpr int kFunctions = 64;
constexpr int kStatic = 1024;
constexpr int kMost = 232448;
constexpr int kUsual = 49152;
constexpr std::size_t kArgs = 4096;

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

struct MockModule {
  int device;
  const char* image;
  bool live;
};

struct MockFunction {
  const MockModule* module;
  const char* symbol;
  int most_shared;
};

using Work = std::vector<std::function<void()>>;

struct Executable {
  Work work;
  bool is_replay;  // what is launched next; the first launch takes as long as one by one
};

struct Record {
  std::mutex mutex;
  std::map<void*, Work> captures;  // by stream
  bool initialized;
  MockModule modules[kModules];
  MockFunction functions[kFunctions];
  MockCudaCounts counts;
  std::uint64_t renewals = 0;
  MockCudaLaunch launch;
  int replayed;  // of launches and clears
  char failing[40];
  int failure;

  int told_to_fail(const char* call) {
    ++counts.sequence;
    return std::strcmp(failing, call) == 0 ? failure : 0;
  }
};

Record record;  // all zeros
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

std::uint32_t image_size(const char* image) {
  std::uint32_t size = 0;
  std::memcpy(&size, image + 64, sizeof size);
  return size;
}

bool is_cubin(const char* image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof header);
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_machine == EM_CUDA;
}

const char* text_in(const char* image, const char* wanted) {
  for (const char* at = image + 68; at < image + image_size(image); at += std::strlen(at) + 1) {
    if (std::strcmp(at, wanted) == 0) return at;
  }
  return nullptr;
}

/// In half milliseconds; the record is locked.
int now() {
  return 2 * (record.counts.launches + record.counts.clears) - record.replayed;
}

/// Done now, or kept where the stream is captured; the record is locked.
void submit(void* stream, std::function<void()> work) {
  const auto capture = record.captures.find(stream);
  if (capture != record.captures.end())
    capture->second.push_back(std::move(work));
  else
    work();
}

/// What a call that needs a context answers: a test's code, or that there is none.
int refused(const char* call) {
  if (const int code = record.told_to_fail(call)) return code;
  if (!record.initialized) return kNotInitialized;
  return current < 0 ? kInvalidContext : 0;
}

}  // namespace

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

int cuStreamSynchronize(void*) {
  const std::lock_guard lock(record.mutex);
  return refused("cuStreamSynchronize");
}

int cuStreamIsCapturing(void* stream, int* status) {
  const std::lock_guard lock(record.mutex);
  if (const int code = refused("cuStreamIsCapturing")) return code;
  *status = static_cast<int>(record.captures.count(stream));
  return 0;
}

int cuStreamGetId(void* stream, unsigned long long* id) {
  static std::atomic<unsigned long long> threads{3};
  thread_local const unsigned long long own = threads++;
  const std::lock_guard lock(record.mutex);
  if (const int code = refused("cuStreamGetId")) return code;
  if (record.captures.count(stream) != 0) return kCaptureUnsupported;
  const auto address = reinterpret_cast<std::uint64_t>(stream);
  *id = address == 2 ? own : address < 2 ? address : address + record.renewals;
  return 0;
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

// An event is a time in half milliseconds: of launches and clears before it each takes two, of a graph's replay one.
int cuEventCreate(void** event, unsigned) {
  const std::lock_guard lock(record.mutex);
  if (const int code = refused("cuEventCreate")) return code;
  *event = new int(-1);
  ++record.counts.events;
  return 0;
}

int cuEventDestroy_v2(void* event) {
  const std::lock_guard lock(record.mutex);
  delete static_cast<int*>(event);
  --record.counts.events;
  return 0;
}

int cuEventRecord(void* event, void* stream) {
  const std::lock_guard lock(record.mutex);
  if (const int code = refused("cuEventRecord")) return code;
  if (record.captures.count(stream) != 0) return kInvalidValue;  // a node of the graph is wanted
  *static_cast<int*>(event) = now();
  return 0;
}

int cuEventRecordWithFlags(void* event, void* stream, unsigned flags) {
  const std::lock_guard lock(record.mutex);
  if (const int code = refused("cuEventRecordWithFlags")) return code;
  if (flags != 1 || record.captures.count(stream) == 0) return kInvalidValue;
  submit(stream, [event] { *static_cast<int*>(event) = now(); });
  return 0;
}

int cuEventSynchronize(void*) {
  return 0;
}

int cuEventElapsedTime(float* milliseconds, void* begin, void* end) {
  const std::lock_guard lock(record.mutex);
  if (const int code = refused("cuEventElapsedTime")) return code;
  *milliseconds = static_cast<float>(*static_cast<int*>(end) - *static_cast<int*>(begin)) / 2;
  return 0;
}

int cuStreamCreate(void** stream, unsigned) {
  const std::lock_guard lock(record.mutex);
  if (const int code = refused("cuStreamCreate")) return code;
  *stream = new int();
  ++record.counts.streams;
  return 0;
}

int cuStreamDestroy_v2(void* stream) {
  const std::lock_guard lock(record.mutex);
  record.captures.erase(stream);
  delete static_cast<int*>(stream);
  --record.counts.streams;
  return 0;
}

int cuStreamBeginCapture_v2(void* stream, int) {
  const std::lock_guard lock(record.mutex);
  if (const int code = refused("cuStreamBeginCapture_v2")) return code;
  return stream != nullptr && record.captures.emplace(stream, Work()).second ? 0 : kIllegalState;
}

int cuStreamEndCapture(void* stream, void** graph) {
  const std::lock_guard lock(record.mutex);
  if (const int code = refused("cuStreamEndCapture")) return code;
  const auto capture = record.captures.find(stream);
  if (capture == record.captures.end()) return kIllegalState;
  *graph = new Work(std::move(capture->second));
  record.captures.erase(capture);
  ++record.counts.graphs;
  return 0;
}

int cuGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long) {
  const std::lock_guard lock(record.mutex);
  if (const int code = refused("cuGraphInstantiateWithFlags")) return code;
  *executable = new Executable{*static_cast<Work*>(graph), false};
  ++record.counts.graphs;
  return 0;
}

int cuGraphDestroy(void* graph) {
  const std::lock_guard lock(record.mutex);
  delete static_cast<Work*>(graph);
  --record.counts.graphs;
  return 0;
}

int cuGraphExecDestroy(void* executable) {
  const std::lock_guard lock(record.mutex);
  delete static_cast<Executable*>(executable);
  --record.counts.graphs;
  return 0;
}

int cuGraphLaunch(void* executable, void*) {
  const std::lock_guard lock(record.mutex);
  if (const int code = refused("cuGraphLaunch")) return code;
  Executable& graph = *static_cast<Executable*>(executable);
  for (const std::function<void()>& work : graph.work) {
    const int before = record.counts.launches + record.counts.clears;
    work();
    if (graph.is_replay) record.replayed += record.counts.launches + record.counts.clears - before;
  }
  graph.is_replay = true;
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

void mock_cuda_renew_streams() {
  const std::lock_guard lock(record.mutex);
  ++record.renewals;
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
  std::strncpy(record.failing, call, sizeof record.failing - 1);
  record.failure = code;
}

void mock_cuda_enter(int device) {
  current = device;
}

}  // extern "C"
