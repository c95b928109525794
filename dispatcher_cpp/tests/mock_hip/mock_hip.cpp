// A HIP runtime of seven devices, as far as ckgen asks one: the ABI of ROCm 6 and 7. Records what it is told to launch,
// without operator new, so that a test can count the allocations of others.
#include "mock_hip.hpp"
#include "../mock_gpu/mock_gpu.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <mutex>
#include <thread>

using namespace mock_gpu;

namespace {

struct MockDevice {
  const char* arch;
  int cu_num;
  const char* product = "Mock";
};

constexpr MockDevice kDevices[] = {
    {"gfx942:sramecc+:xnack-", 304},
    {"gfx942:sramecc+:xnack-", 80},
    {"gfx950:sramecc+:xnack-", 256},
    {"gfx1100", 48},
    {"gfx9999", 7},
    {"gfx942:sramecc+:xnack-", 304, "AMD Instinct MI325X"},
    {"gfx942:sramecc+:xnack-", 304, "AMD Instinct MI300X"},
};
constexpr int kCount = static_cast<int>(std::size(kDevices));
constexpr int kFunctions = 256;
constexpr int kLaunches = 64;

struct MockFunction {
  const MockModule* module;
  const char* symbol;
};

/// Everything that was told, under one lock.
struct Record {
  std::mutex mutex;
  MockModule modules[kModules];
  MockFunction functions[kFunctions];
  MockCounts counts;
  MockLaunch launches[kLaunches];
  MockClear clear;
  std::uint64_t digest;
  Failing failing;

  /// The code that `call` is to answer with, if a test asked for one.
  int told_to_fail(const char* call) {
    ++counts.sequence;
    return failing.code_of(call);
  }
};

Record record;  // all zeros

bool is_elf(const char* image) {
  return std::memcmp(image,
                     "\x7f"
                     "ELF",
                     4) == 0;
}

std::uint64_t digest_of(const char* image) {
  std::uint64_t digest = 0xcbf29ce484222325;
  for (std::uint32_t i = 0; i < image_size(image); ++i)
    digest = (digest ^ static_cast<unsigned char>(image[i])) * 0x100000001b3;
  return digest;
}

/// As a driver does: whoever else wants the same meanwhile is seen to wait, or not to.
void take_a_while() {
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

// Of the program's own block: GCC 12's ThreadSanitizer takes what glibc allocates for a library that is opened for
// another one's where it happens to begin 16 bytes into a page, and ends the process.
[[gnu::tls_model("initial-exec")]] thread_local int current_device = 0;
std::atomic<int> property_queries{0};

}  // namespace

extern "C" {

int hipSetDevice(int id) {
  if (id < 0 || id >= kCount) return kInvalidDevice;
  current_device = id;
  return 0;
}

int hipGetDevice(int* id) {
  *id = current_device;
  return 0;
}

int hipDeviceGetAttribute(int* value, int attribute, int id) {
  if (id < 0 || id >= kCount || attribute != 63) return kInvalidDevice;
  *value = kDevices[id].cu_num;
  return 0;
}

int hipGetDevicePropertiesR0600(void* properties, int id) {
  if (id < 0 || id >= kCount) return kInvalidDevice;
  property_queries.fetch_add(1, std::memory_order_relaxed);
  std::memset(properties, 0, 1472);
  std::strcpy(static_cast<char*>(properties), kDevices[id].product);
  std::strcpy(static_cast<char*>(properties) + 1160, kDevices[id].arch);
  return 0;
}

int hipStreamSynchronize(void*) {
  return 0;
}

int hipMalloc(void** memory, std::size_t bytes) {
  *memory = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  return *memory == nullptr ? 2 : 0;
}

int hipFree(void* memory) {
  std::free(memory);
  return 0;
}

int hipMemcpy(void* to, const void* from, std::size_t bytes, int) {
  const std::lock_guard lock(record.mutex);
  if (const int code = record.told_to_fail("hipMemcpy")) return code;
  std::memcpy(to, from, bytes);
  return 0;
}

int hipDriverGetVersion(int* version) {
  *version = 60443484;
  return 0;
}

int hipModuleLoadData(void** module, const void* image) {
  take_a_while();
  const std::lock_guard lock(record.mutex);
  if (const int code = record.told_to_fail("hipModuleLoadData")) return code;
  const char* bytes = static_cast<const char*>(image);
  if (!is_elf(bytes)) return kInvalidValue;
  if (text_in(bytes, kDevices[current_device].arch) == nullptr) return kNoBinaryForGpu;
  if (record.counts.loads == kModules) std::abort();
  MockModule& slot = record.modules[record.counts.loads++];
  slot = {current_device, bytes, true};
  record.digest = digest_of(bytes);
  *module = &slot;
  return 0;
}

int hipModuleUnload(void* module) {
  const std::lock_guard lock(record.mutex);
  if (const int code = record.told_to_fail("hipModuleUnload")) return code;
  MockModule& slot = *static_cast<MockModule*>(module);
  if (!slot.live || !is_elf(slot.image)) std::abort();  // unloaded twice, or its image went before it
  slot.live = false;
  ++record.counts.unloads;
  return 0;
}

int hipModuleGetFunction(void** function, void* module, const char* symbol) {
  take_a_while();
  const std::lock_guard lock(record.mutex);
  if (const int code = record.told_to_fail("hipModuleGetFunction")) return code;
  const MockModule& owner = *static_cast<const MockModule*>(module);
  const char* found = text_in(owner.image, symbol);
  if (found == nullptr) return kNotFound;
  if (record.counts.functions == kFunctions) std::abort();
  MockFunction& slot = record.functions[record.counts.functions++];
  slot = {&owner, found};
  *function = &slot;
  return 0;
}

int hipModuleLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned shared, void* stream, void** params, void** extra) {
  const std::lock_guard lock(record.mutex);
  if (const int code = record.told_to_fail("hipModuleLaunchKernel")) return code;
  const MockFunction& kernel = *static_cast<const MockFunction*>(function);
  if (params != nullptr || !kernel.module->live || kernel.module->device != current_device) return kInvalidValue;
  if (extra[0] != reinterpret_cast<void*>(1) || extra[2] != reinterpret_cast<void*>(2) ||
      extra[4] != reinterpret_cast<void*>(3))
    return kInvalidValue;
  MockLaunch& launch = record.launches[record.counts.launches % kLaunches];
  launch = {{}, {gx, gy, gz}, {bx, by, bz}, shared, stream, current_device, record.counts.sequence, 0, {}};
  std::strncpy(launch.symbol, kernel.symbol, sizeof launch.symbol - 1);
  launch.args_size = *static_cast<std::size_t*>(extra[3]);
  std::memcpy(launch.args, extra[1], launch.args_size);
  ++record.counts.launches;
  return 0;
}

int hipMemsetAsync(void* memory, int value, std::size_t bytes, void* stream) {
  const std::lock_guard lock(record.mutex);
  if (const int code = record.told_to_fail("hipMemsetAsync")) return code;
  std::memset(memory, value, bytes);
  record.clear = {memory, 0, bytes, 1, stream, record.counts.sequence};
  ++record.counts.clears;
  return 0;
}

int hipMemset2DAsync(void* memory, std::size_t pitch, int value, std::size_t width, std::size_t height, void* stream) {
  const std::lock_guard lock(record.mutex);
  if (const int code = record.told_to_fail("hipMemset2DAsync")) return code;
  for (std::size_t row = 0; row < height; ++row) std::memset(static_cast<char*>(memory) + row * pitch, value, width);
  record.clear = {memory, pitch, width, height, stream, record.counts.sequence};
  ++record.counts.clears;
  return 0;
}

// An event is the number of launches and clears before it; each of them takes a millisecond.
int hipEventCreate(void** event) {
  const std::lock_guard lock(record.mutex);
  if (const int code = record.told_to_fail("hipEventCreate")) return code;
  *event = new int(-1);
  ++record.counts.events;
  return 0;
}

int hipEventDestroy(void* event) {
  const std::lock_guard lock(record.mutex);
  delete static_cast<int*>(event);
  --record.counts.events;
  return 0;
}

int hipEventRecord(void* event, void*) {
  const std::lock_guard lock(record.mutex);
  if (const int code = record.told_to_fail("hipEventRecord")) return code;
  *static_cast<int*>(event) = record.counts.launches + record.counts.clears;
  return 0;
}

int hipEventSynchronize(void*) {
  return 0;
}

int hipEventElapsedTime(float* milliseconds, void* begin, void* end) {
  const std::lock_guard lock(record.mutex);
  if (const int code = record.told_to_fail("hipEventElapsedTime")) return code;
  *milliseconds = static_cast<float>(*static_cast<int*>(end) - *static_cast<int*>(begin));
  return 0;
}

MockCounts mock_hip_counts() {
  const std::lock_guard lock(record.mutex);
  return record.counts;
}

MockLaunch mock_hip_last_launch() {
  const std::lock_guard lock(record.mutex);
  return record.launches[(record.counts.launches + kLaunches - 1) % kLaunches];
}

MockLaunch mock_hip_launch(int number) {
  const std::lock_guard lock(record.mutex);
  return record.launches[number % kLaunches];
}

MockClear mock_hip_last_clear() {
  const std::lock_guard lock(record.mutex);
  return record.clear;
}

std::uint64_t mock_hip_last_digest() {
  const std::lock_guard lock(record.mutex);
  return record.digest;
}

void mock_hip_fail(const char* call, int code) {
  const std::lock_guard lock(record.mutex);
  record.failing.set(call, code);
}

int mock_hip_property_queries() {
  return property_queries;
}

}  // extern "C"
