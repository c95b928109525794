// HIP's functions: devices and errors.
#include <cstdint>
#include <cstring>
#include <string>

#include "runtime.hpp"

using namespace ckgen::shim;

namespace {

constexpr std::uint64_t kMemory = std::uint64_t{64} << 30;  // what the device claims to have; the host's is the limit
constexpr int kWave = 64;
constexpr int kWavesPerUnit = 32;
constexpr int kClockKilohertz = 2100000;
constexpr int kLargestGrid = 2147483647;

class Properties {
 public:
  explicit Properties(void* memory) noexcept : memory_(static_cast<char*>(memory)) {
    std::memset(memory_, 0, property::kSize);
  }
  void size(std::size_t at, std::uint64_t value) noexcept { std::memcpy(memory_ + at, &value, sizeof value); }
  void number(std::size_t at, std::int64_t value) noexcept {
    const auto narrow = static_cast<std::int32_t>(value);
    std::memcpy(memory_ + at, &narrow, sizeof narrow);
  }
  void triple(std::size_t at, std::int64_t x, std::int64_t y, std::int64_t z) noexcept {
    number(at, x);
    number(at + 4, y);
    number(at + 8, z);
  }
  void text(std::size_t at, const std::string& value) noexcept {
    std::memcpy(memory_ + at, value.data(), value.size());
  }

 private:
  char* memory_;
};

/// The version's digits of a CDNA arch: 9.4 of gfx942.
int major(const Target& target) {
  return target.arch[3] - '0';
}

int minor(const Target& target) {
  return target.arch[4] - '0';
}

int attribute_of(const Target& target, int attribute, int& value) {
  switch (attribute) {
    case kClockRate: value = kClockKilohertz; break;
    case kL2CacheSize: value = static_cast<int>(target.l2_bytes); break;
    case kComputeCapabilityMajor: value = major(target); break;
    case kComputeCapabilityMinor: value = minor(target); break;
    case kMaxThreadsPerBlock: value = static_cast<int>(target.max_threads); break;
    case kMaxThreadsPerMultiProcessor: value = kWave * kWavesPerUnit; break;
    case kMultiprocessorCount: value = static_cast<int>(target.compute_units); break;
    case kMaxSharedMemoryPerBlock:
    case kSharedMemPerMultiprocessor: value = static_cast<int>(target.lds_bytes); break;
    case kWarpSize: value = kWave; break;
    case kNumberOfXccs: value = static_cast<int>(target.xcds); break;
    default:
      if (attribute >= kMaxBlockDimX && attribute <= kMaxBlockDimZ) {
        value = static_cast<int>(target.max_threads);
      } else if (attribute >= kMaxGridDimX && attribute <= kMaxGridDimZ) {
        value = kLargestGrid;
      } else {
        return kNotSupported;
      }
  }
  return kSuccess;
}

void describe(const Target& target, void* memory) {
  Properties out(memory);
  const std::int64_t threads = target.max_threads;
  out.text(property::kName, "ckgen emulator of " + target.arch);
  out.size(property::kTotalGlobalMem, kMemory);
  out.size(property::kSharedMemPerBlock, target.lds_bytes);
  out.number(property::kRegsPerBlock, 65536);
  out.number(property::kWarpSize, kWave);
  out.number(property::kMaxThreadsPerBlock, threads);
  out.triple(property::kMaxThreadsDim, threads, threads, threads);
  out.triple(property::kMaxGridSize, kLargestGrid, kLargestGrid, kLargestGrid);
  out.number(property::kClockRate, kClockKilohertz);
  out.number(property::kMajor, major(target));
  out.number(property::kMinor, minor(target));
  out.number(property::kMultiProcessorCount, target.compute_units);
  out.number(property::kConcurrentKernels, 1);
  out.number(property::kL2CacheSize, static_cast<std::int64_t>(target.l2_bytes));
  out.number(property::kMaxThreadsPerMultiProcessor, kWave * kWavesPerUnit);
  out.size(property::kSharedMemPerMultiprocessor, target.lds_bytes);
  out.size(property::kSharedMemPerBlockOptin, target.lds_bytes);
  out.text(property::kGcnArchName, target.arch + ":sramecc+:xnack-");
  out.size(property::kMaxSharedMemoryPerMultiProcessor, target.lds_bytes);
}

}  // namespace

CKGEN_HIP int hipInit(unsigned) {
  return with_runtime([](Runtime&) { return kSuccess; });
}

CKGEN_HIP int hipGetDeviceCount(int* count) {
  if (count == nullptr) return answer(kInvalidValue);
  *count = 0;
  return with_runtime([&](Runtime&) {
    *count = 1;
    return kSuccess;
  });
}

CKGEN_HIP int hipGetDevice(int* device) {
  return with_runtime([&](Runtime&) {
    if (device == nullptr) return kInvalidValue;
    *device = 0;
    return kSuccess;
  });
}

CKGEN_HIP int hipSetDevice(int device) {
  return with_runtime([&](Runtime&) { return device == 0 ? kSuccess : kInvalidDevice; });
}

CKGEN_HIP int hipDeviceGetAttribute(int* value, int attribute, int device) {
  return with_runtime([&](Runtime& runtime) -> int {
    if (device != 0) return kInvalidDevice;
    return value != nullptr ? attribute_of(runtime.settings.target, attribute, *value) : kInvalidValue;
  });
}

CKGEN_HIP int hipGetDevicePropertiesR0600(void* properties, int device) {
  return with_runtime([&](Runtime& runtime) {
    if (device != 0) return kInvalidDevice;
    if (properties == nullptr) return kInvalidValue;
    describe(runtime.settings.target, properties);
    return kSuccess;
  });
}

CKGEN_HIP int hipDeviceSynchronize() {
  return with_runtime([](Runtime& runtime) { return runtime.streams.synchronize_all(); });
}

CKGEN_HIP int hipGetLastError() {
  return last_error(true);
}

CKGEN_HIP int hipPeekAtLastError() {
  return last_error(false);
}

CKGEN_HIP const char* hipGetErrorString(int error) {
  return error_text(error);
}

CKGEN_HIP const char* hipGetErrorName(int error) {
  const char* name = error_name(error);
  return name != nullptr ? name : "hipErrorUnknown";
}
