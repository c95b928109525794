// HIP's functions: code objects and launches.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "runtime.hpp"

using namespace ckgen::shim;

namespace {

constexpr std::size_t kMostArguments = 65536;  // bytes
constexpr std::uint64_t kLargestObject = std::uint64_t{1} << 32;

// HIP_LAUNCH_PARAM_*: the keys of hipModuleLaunchKernel's `extra`.
constexpr std::uintptr_t kBufferPointer = 1, kBufferSize = 2, kEnd = 3;

std::uint64_t field(const unsigned char* bytes, std::size_t at, std::size_t count) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes + at, count);
  return value;
}

/// Bytes of an ELF64 file whose size nobody says: to the end of its section headers or of its last section, whichever
/// is later. 0 for what is none.
std::uint64_t size_of_elf(const void* image) {
  const auto* bytes = static_cast<const unsigned char*>(image);
  if (std::memcmp(bytes,
                  "\x7f"
                  "ELF\x02\x01",
                  6) != 0)
    return 0;
  const std::uint64_t table = field(bytes, 40, 8), entry = field(bytes, 58, 2), count = field(bytes, 60, 2);
  if (entry != 64 || table > kLargestObject) return 0;
  std::uint64_t end = table + entry * count;
  for (std::uint64_t i = 0; i < count; ++i) {
    const unsigned char* section = bytes + table + i * entry;
    const std::uint64_t offset = field(section, 24, 8), size = field(section, 32, 8);
    constexpr std::uint64_t kNoBits = 8;
    if (field(section, 4, 4) == kNoBits) continue;
    if (offset > kLargestObject || size > kLargestObject) return 0;
    end = std::max(end, offset + size);
  }
  return end;
}

/// The arguments as their kernarg segment has them, from either of the two ways to pass them.
int gather(const KernelInfo& kernel, void** params, void** extra, std::vector<std::uint8_t>& out) {
  if (params != nullptr && extra != nullptr) return kInvalidValue;
  if (params != nullptr) {
    for (std::size_t i = 0; i < kernel.arguments.size(); ++i) {
      const auto [offset, size] = kernel.arguments[i];
      if (params[i] == nullptr || std::size_t{offset} + size > kMostArguments) return kInvalidValue;
      out.resize(std::max(out.size(), std::size_t{offset} + size));
      std::memcpy(out.data() + offset, params[i], size);
    }
    return kSuccess;
  }
  if (extra == nullptr) return kernel.arguments.empty() ? kSuccess : kInvalidValue;
  const void* buffer = nullptr;
  std::size_t size = 0;
  for (; extra[0] != reinterpret_cast<void*>(kEnd); extra += 2) {
    if (extra[0] == reinterpret_cast<void*>(kBufferPointer)) {
      buffer = extra[1];
    } else if (extra[0] == reinterpret_cast<void*>(kBufferSize)) {
      size = *static_cast<const std::size_t*>(extra[1]);
    } else {
      return kInvalidValue;
    }
  }
  if (size > kMostArguments || (buffer == nullptr && size != 0)) return kInvalidValue;
  const auto* bytes = static_cast<const std::uint8_t*>(buffer);
  out.assign(bytes, bytes + size);
  return kSuccess;
}

}  // namespace

CKGEN_HIP int hipModuleLoadData(void** module, const void* image) {
  return with_runtime([&](Runtime& runtime) -> int {
    if (module == nullptr || image == nullptr) return kInvalidValue;
    if (const int error = runtime.streams.refuse_in_capture(); error != kSuccess) return error;
    const std::uint64_t size = size_of_elf(image);
    if (size == 0) return kInvalidImage;
    std::shared_ptr<LoadedModule> loaded;
    if (const int error = runtime.executor.load(image, size, loaded); error != kSuccess) return error;
    *module = runtime.modules.add(std::move(loaded));
    return kSuccess;
  });
}

CKGEN_HIP int hipModuleUnload(void* module) {
  return with_runtime([&](Runtime& runtime) -> int {
    if (const int error = runtime.streams.refuse_in_capture(); error != kSuccess) return error;
    return runtime.modules.remove(module) ? kSuccess : kInvalidHandle;
  });
}

CKGEN_HIP int hipModuleGetFunction(void** function, void* module, const char* name) {
  return with_runtime([&](Runtime& runtime) {
    std::shared_ptr<LoadedModule> loaded;
    if (function == nullptr || name == nullptr) return kInvalidValue;
    if (!runtime.modules.find(module, loaded)) return kInvalidHandle;
    for (std::size_t i = 0; i < loaded->kernels().size(); ++i) {
      if (loaded->kernels()[i].name != std::string_view(name)) continue;
      *function = runtime.functions.add({loaded, i});
      return kSuccess;
    }
    return kNotFound;
  });
}

CKGEN_HIP int hipModuleLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                                    unsigned block_y, unsigned block_z, unsigned dynamic_lds, void* stream,
                                    void** params, void** extra) {
  return with_runtime([&](Runtime& runtime) -> int {
    Function called;
    if (!runtime.functions.find(function, called)) return kInvalidHandle;
    const std::shared_ptr<LoadedModule> module = called.module.lock();
    if (!module) return kInvalidHandle;
    const KernelInfo& kernel = module->kernels()[called.kernel];
    LaunchOperation launch{module, called.kernel, {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, 0, {}}};
    launch.dispatch.dynamic_lds = dynamic_lds;
    if (const int error = gather(kernel, params, extra, launch.dispatch.args); error != kSuccess) return error;
    if (const int error = runtime.executor.check(*module, kernel, launch.dispatch); error != kSuccess) return error;
    return runtime.streams.submit(static_cast<Stream*>(stream), launch);
  });
}
