// The GPU code of one instance in this process: its code objects on a GPU, loaded when the first kernel is needed.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include <ckgen/device.hpp>
#include <ckgen/device_code.hpp>
#include <ckgen/plan.hpp>

#include "src/gpu/runtime.hpp"

namespace ckgen::inline v1::detail {

/// What the stages before a kernel zero.
struct Resets {
  ClearFn output = nullptr;  // null: no stage resets C
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
};

/// Thread-safe. Once a kernel is known on a device, launching it takes no lock and allocates nothing.
class DeviceProgram {
 public:
  /// The program of `code`: one for all registries that hold it at the same time, so that code is loaded once.
  /// Throws std::bad_alloc.
  static std::shared_ptr<const DeviceProgram> of(const DeviceCode& code);

  explicit DeviceProgram(const DeviceCode& code) noexcept : code_(code) {}
  ~DeviceProgram();
  DeviceProgram(const DeviceProgram&) = delete;
  DeviceProgram& operator=(const DeviceProgram&) = delete;

  /// Bit i: there is an object for the Arch with value i.
  std::uint32_t archs() const noexcept;
  /// Ok, or that `instance`, whose code this is, has none for `arch`.
  Status built_for(Arch arch, const InstanceDesc& instance) const noexcept;
  const DeviceCode& code() const noexcept { return code_; }

  /// Loads the code for `device`, the thread's current one, unless it is loaded.
  Status preload(const InstanceDesc& instance, const Device& device) const noexcept;
  /// Prepares and launches on `device`, the thread's current one, with the stages that reset memory for it before it;
  /// whatever can be refused is refused before any memory changes.
  Status launch(const Launch& launch, const Device& device, const Resets& resets) const noexcept;
  /// Another kernel of the code that no stage resets memory for.
  Status launch(PrepareFn prepare, const Launch& launch, const Device& device) const noexcept;
  /// Checks and launches such a kernel that was prepared.
  Status submit(const KernelCall& call, const InstanceDesc& instance, const Device& device,
                Stream stream) const noexcept;

 private:
  struct Kernel {
    std::string symbol;
    std::uint32_t object;
    void* function;
    Kernel* next;
  };
  struct Module {
    void* handle = nullptr;
    std::unique_ptr<unsigned char[]> image;  // the runtime keeps pointers into it
  };
  struct Loaded {
    ~Loaded();
    const GpuRuntime* runtime = nullptr;
    int device = -1;
    Module modules[kMaxCodeObjects];  // in the order of the arch's code objects
    std::atomic<Kernel*> kernels{nullptr};
    Loaded* next = nullptr;
  };

  /// The next object of the arch from `from` on; null: there is none.
  const CodeObject* object_of(Arch arch, const CodeObject* from) const noexcept;
  bool has(Arch arch) const noexcept { return object_of(arch, code_.objects) != nullptr; }
  Loaded* find(int device) const noexcept;
  static void* find(const Loaded& loaded, const KernelCall& call) noexcept;
  Status load(const InstanceDesc& instance, const Device& device, Loaded*& out) const noexcept;
  Status resolve(Loaded& loaded, const KernelCall& call, void*& out) const noexcept;
  /// The kernel that `call` names on `device`; null with a status that says why.
  void* function_of(const KernelCall& call, const InstanceDesc& instance, const Device& device,
                    Status& status) const noexcept;

  const DeviceCode& code_;
  // Lists that only grow, at their head and under the mutex, and are read without it.
  mutable std::mutex mutex_;
  mutable std::atomic<Loaded*> loaded_{nullptr};
};

}  // namespace ckgen::inline v1::detail
