// A HIP runtime of five devices, as far as ckgen asks one: the ABI of ROCm 6 and 7.
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <iterator>

namespace {

struct MockDevice {
  const char* arch;
  int cu_num;
};

constexpr MockDevice kDevices[] = {
    {"gfx942:sramecc+:xnack-", 304},
    {"gfx942:sramecc+:xnack-", 80},
    {"gfx950:sramecc+:xnack-", 256},
    {"gfx1100", 48},
    {"gfx9999", 7},
};
constexpr int kCount = static_cast<int>(std::size(kDevices));
constexpr int kInvalidDevice = 101;

thread_local int current_device = 0;
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
  ++property_queries;
  std::memset(properties, 0, 1472);
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

int mock_hip_property_queries() {
  return property_queries;
}

}  // extern "C"
