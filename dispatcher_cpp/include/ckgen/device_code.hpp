// GPU code of instances: code objects as bytes, and the functions that prepare a launch of their kernels.
//
// Constants and plain functions that a built library holds beside its Library and hands to Registry::attach. Nothing
// here names HIP or a kernel library.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ckgen/arch_data.hpp>
#include <ckgen/instance.hpp>
#include <ckgen/library.hpp>
#include <ckgen/status.hpp>

namespace ckgen {
inline namespace v1 {

/// One code object (an ELF file for one arch), compressed as a zlib stream (RFC 1950) that ends with `size`.
struct CodeObject {
  Arch arch;
  const unsigned char* bytes;
  std::size_t size;
  std::size_t unpacked_size;  // of the ELF file; anything else is refused at load
};

inline constexpr std::uint32_t kMaxKernelArgs = 1024;  // bytes; the arguments of ck and ck_tile take 100 to 400

/// Memory of the device to be zeroed on the stream before the kernel runs: `batches` times `rows` times `width` bytes,
/// `batch_pitch` and `pitch` bytes apart. No rows: nothing.
struct Clear {
  void* memory;
  std::size_t pitch;
  std::size_t width;
  std::size_t rows;
  std::size_t batches = 1;
  std::size_t batch_pitch = 0;
};

/// One launch, ready for hipModuleLaunchKernel. Not initialised: whoever prepares it calls reset() first, which leaves
/// the room of `args` alone.
struct KernelCall {
  const char* symbol;                              // extern "C" name in the code object; read during the launch only
  std::uint32_t grid[3];                           // workgroups, each at least 1
  std::uint32_t block[3];                          // work-items, each at least 1
  std::uint32_t dynamic_lds;                       // bytes
  std::uint32_t args_size;                         // bytes of `args` that the kernel takes
  Clear clear;                                     // refused where the plan has no reset_output stage
  alignas(16) unsigned char args[kMaxKernelArgs];  // the kernel's arguments as its kernarg segment lays them out

  void reset() noexcept {
    symbol = nullptr;
    for (int i = 0; i < 3; ++i) grid[i] = block[i] = 1;
    dynamic_lds = args_size = 0;
    clear = Clear{nullptr, 0, 0, 0};
  }
};

/// Decides which kernel of the instance `launch` takes on `arch` and fills `out` by the operation's own rules; refuses
/// (unsupported, with its reason) what they refuse. Neither launches nor allocates nor follows a pointer of the
/// arguments. Thread-safe.
using PrepareFn = Status (*)(const Launch& launch, Arch arch, std::uint32_t cu_num, KernelCall& out) noexcept;

/// Bytes of device memory that Launch::workspace must have. Pure, thread-safe.
using DeviceWorkspaceFn = std::size_t (*)(const InstanceDesc&, const Problem&, std::uint32_t k_batch, Arch arch,
                                          std::uint32_t cu_num) noexcept;

/// The GPU code of one instance.
struct DeviceCode {
  std::uint64_t id;  // InstanceDesc::id
  PrepareFn prepare;
  const CodeObject* objects;  // at most one per arch
  std::uint32_t object_count;
  DeviceWorkspaceFn workspace;  // null: none is needed
};

/// What a built library hands to Registry::attach. `abi` is the CKGEN_RUNTIME_ABI that it was compiled with.
struct DeviceLibrary {
  const char* name;
  std::uint32_t abi;
  const DeviceCode* const* codes;
  std::uint32_t count;
};

}  // namespace v1
}  // namespace ckgen
