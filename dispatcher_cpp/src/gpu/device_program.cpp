#include "src/gpu/device_program.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <map>
#include <new>

#include "src/gpu/unpack.hpp"

namespace ckgen::inline v1::detail {
namespace {

/// Programs that are alive. An entry whose program is gone is replaced: its address may be another library's by now.
struct Programs {
  std::mutex mutex;
  std::map<const DeviceCode*, std::weak_ptr<const DeviceProgram>> by_code;
};

Programs& programs() {
  static Programs instance;
  return instance;
}

/// The first part of a message is what matters: it is cut at its end.
Status about(const Status& status, const char* what, Arch arch) noexcept {
  return Status::error(status.code, "%s (%s on %s)", status.message, what, arch_name(arch).data());
}

Status check(const KernelCall& call, Arch arch) noexcept {
  const ArchInfo& info = arch_info(arch);
  if (call.symbol == nullptr) return Status::error(StatusCode::internal, "no kernel was chosen");
  std::uint64_t threads = 1;
  for (int i = 0; i < 3; ++i) {
    // HIP counts a grid's work-items along an axis in 32 bits.
    if (call.grid[i] == 0 || call.block[i] == 0 ||
        std::uint64_t{call.grid[i]} * call.block[i] > std::numeric_limits<std::uint32_t>::max())
      return Status::error(StatusCode::unsupported, "grid %u x %u x %u of %u x %u x %u cannot be launched",
                           call.grid[0], call.grid[1], call.grid[2], call.block[0], call.block[1], call.block[2]);
    threads *= call.block[i];
  }
  if (threads > static_cast<std::uint64_t>(info.max_threads_per_block))
    return Status::error(StatusCode::unsupported, "a workgroup of %llu work-items, at most %d",
                         static_cast<unsigned long long>(threads), info.max_threads_per_block);
  const std::uint64_t cluster = std::uint64_t{call.cluster[0]} * call.cluster[1] * call.cluster[2];
  bool is_whole = cluster != 0;
  for (int i = 0; i < 3 && is_whole; ++i) is_whole = call.grid[i] % call.cluster[i] == 0;
  if (!is_whole || cluster > static_cast<std::uint64_t>(info.max_cluster))
    return Status::error(StatusCode::unsupported,
                         "clusters of %u x %u x %u workgroups, of which whole ones of at most %d make up a grid",
                         call.cluster[0], call.cluster[1], call.cluster[2], info.max_cluster);
  if (call.dynamic_lds > static_cast<std::uint32_t>(info.lds_bytes))
    return Status::error(StatusCode::unsupported, "%u bytes of LDS, at most %d", call.dynamic_lds, info.lds_bytes);
  if (call.args_size > kMaxKernelArgs)
    return Status::error(StatusCode::internal, "%u bytes of arguments, at most %u", call.args_size, kMaxKernelArgs);
  for (const Clear& one : {call.clear, call.flags}) {
    if (one.rows != 0 && (one.memory == nullptr || one.pitch < one.width))
      return Status::error(StatusCode::internal, "the memory to be zeroed is null or its rows overlap");
  }
  return Status::success();
}

}  // namespace

std::shared_ptr<const DeviceProgram> DeviceProgram::of(const DeviceCode& code) {
  Programs& known = programs();
  const std::lock_guard lock(known.mutex);
  std::weak_ptr<const DeviceProgram>& entry = known.by_code[&code];
  std::shared_ptr<const DeviceProgram> program = entry.lock();
  if (!program) {
    program = std::make_shared<const DeviceProgram>(code);
    entry = program;
  }
  return program;
}

DeviceProgram::~DeviceProgram() {
  for (Loaded* loaded = loaded_.load(); loaded != nullptr;) {
    Loaded* next = loaded->next;
    delete loaded;
    loaded = next;
  }
}

DeviceProgram::Loaded::~Loaded() {
  for (const Module& module : modules) {
    if (module.handle != nullptr)
      static_cast<void>(runtime->unload_module(module.handle));  // nobody is left to be told
  }
  for (Kernel* kernel = kernels.load(); kernel != nullptr;) {
    Kernel* following = kernel->next;
    delete kernel;
    kernel = following;
  }
}

std::uint32_t DeviceProgram::archs() const noexcept {
  std::uint32_t archs = 0;
  for (std::uint32_t i = 0; i < code_.object_count; ++i) archs |= 1U << static_cast<unsigned>(code_.objects[i].arch);
  return archs;
}

const CodeObject* DeviceProgram::object_of(Arch arch, const CodeObject* from) const noexcept {
  const CodeObject* const end = code_.objects + code_.object_count;
  const CodeObject* const found = std::find_if(from, end, [arch](const CodeObject& one) { return one.arch == arch; });
  return found != end ? found : nullptr;
}

Status DeviceProgram::built_for(Arch arch, const InstanceDesc& instance) const noexcept {
  if (has(arch)) return Status::success();
  char built[96] = {};
  std::size_t used = 0;
  std::uint32_t named = 0;
  for (std::uint32_t i = 0; i < code_.object_count && used < sizeof built; ++i) {
    const Arch one = code_.objects[i].arch;
    const std::uint32_t bit = 1U << static_cast<unsigned>(one);
    if ((named & bit) != 0) continue;
    used += static_cast<std::size_t>(
        std::snprintf(built + used, sizeof built - used, "%s%s", named == 0 ? "" : ", ", arch_name(one).data()));
    named |= bit;
  }
  return Status::error(StatusCode::unsupported, "no GPU code for %s, only for %s: %s cannot run on %s",
                       arch_name(arch).data(), built, instance.name, arch_name(arch).data());
}

DeviceProgram::Loaded* DeviceProgram::find(int device) const noexcept {
  Loaded* loaded = loaded_.load(std::memory_order_acquire);
  while (loaded != nullptr && loaded->device != device) loaded = loaded->next;
  return loaded;
}

void* DeviceProgram::find(const Loaded& loaded, const KernelCall& call) noexcept {
  const Kernel* kernel = loaded.kernels.load(std::memory_order_acquire);
  while (kernel != nullptr && (kernel->object != call.object || kernel->symbol != call.symbol)) kernel = kernel->next;
  return kernel != nullptr ? kernel->function : nullptr;
}

Status DeviceProgram::load(const InstanceDesc& instance, const Device& device, Loaded*& out) const noexcept {
  const CodeObject* object = object_of(device.arch(), code_.objects);
  if (object == nullptr) return built_for(device.arch(), instance);
  const std::lock_guard lock(mutex_);
  out = find(device.id());
  if (out != nullptr) return Status::success();
  std::unique_ptr<Loaded> loaded(new (std::nothrow) Loaded);
  if (!loaded) return Status::error(StatusCode::internal, "out of memory");
  loaded->runtime = runtime_of(device);
  for (Module* module = loaded->modules; object != nullptr; ++module, object = object_of(device.arch(), object + 1)) {
    Status status = unpack(*object, module->image);
    if (status.ok()) status = loaded->runtime->load_module(module->image.get(), &module->handle);
    if (!status.ok()) return about(status, instance.name, device.arch());
  }
  loaded->device = device.id();
  loaded->next = loaded_.load(std::memory_order_relaxed);
  out = loaded.release();
  loaded_.store(out, std::memory_order_release);
  return Status::success();
}

Status DeviceProgram::resolve(Loaded& loaded, const KernelCall& call, void*& out) const noexcept {
  const std::lock_guard lock(mutex_);
  out = find(loaded, call);
  if (out != nullptr) return Status::success();
  void* const module = call.object < kMaxCodeObjects ? loaded.modules[call.object].handle : nullptr;
  if (module == nullptr)
    return Status::error(StatusCode::internal, "there is no code object %u of its arch", unsigned{call.object});
  void* function = nullptr;
  if (const Status status = loaded.runtime->kernel(module, call.symbol, &function); !status.ok()) return status;
  try {
    loaded.kernels.store(new Kernel{call.symbol, call.object, function, loaded.kernels.load(std::memory_order_relaxed)},
                         std::memory_order_release);
  } catch (...) {
    return Status::error(StatusCode::internal, "out of memory");
  }
  out = function;
  return Status::success();
}

Status DeviceProgram::preload(const InstanceDesc& instance, const Device& device) const noexcept {
  Loaded* loaded = find(device.id());
  return loaded != nullptr ? Status::success() : load(instance, device, loaded);
}

void* DeviceProgram::function_of(const KernelCall& call, const InstanceDesc& instance, const Device& device,
                                 Status& status) const noexcept {
  // A Status is 244 bytes to be set: none is made for what is found.
  Loaded* loaded = find(device.id());
  if (loaded == nullptr) {
    if (status = load(instance, device, loaded); !status.ok()) return nullptr;
  }
  void* function = find(*loaded, call);
  if (function != nullptr) return function;
  if (status = resolve(*loaded, call, function); status.ok()) return function;
  status = about(status, call.symbol, device.arch());
  return nullptr;
}

Status DeviceProgram::launch(const Launch& launch, const Device& device, const Resets& resets) const noexcept {
  const Arch arch = device.arch();
  if (!has(arch)) return built_for(arch, *launch.instance);
  KernelCall call;  // prepare() fills what the launch reads
  call.reset();
  if (const Status status = code_.prepare(launch, arch, device.cu_num(), call); !status.ok()) return status;
  if (const Status status = check(call, arch); !status.ok())
    return about(status, call.symbol != nullptr ? call.symbol : launch.instance->name, arch);
  const bool clears = call.clear.rows != 0 || call.clear_groups;
  if (clears && resets.output == nullptr)
    return Status::error(StatusCode::internal, "%s adds to C, which no stage of the plan resets", call.symbol);
  Status failure;
  void* function = function_of(call, *launch.instance, device, failure);
  if (function == nullptr) return failure;
  const GpuRuntime& runtime = *runtime_of(device);  // there is code for it, so a vendor's
  if (clears) {
    if (const Status status = resets.output(runtime, call, launch); !status.ok())
      return about(status, call.symbol, arch);
  }
  if (resets.workspace_bytes != 0) {
    const Clear flags{resets.workspace, resets.workspace_bytes, resets.workspace_bytes, 1};
    if (const Status status = runtime.zero(flags, launch.stream); !status.ok()) return about(status, call.symbol, arch);
  }
  if (call.flags.rows != 0) {
    if (const Status status = runtime.zero(call.flags, launch.stream); !status.ok())
      return about(status, call.symbol, arch);
  }
  const Status status = runtime.launch(function, call, launch.stream);
  return status.ok() ? status : about(status, call.symbol, arch);
}

Status DeviceProgram::submit(const KernelCall& call, const InstanceDesc& instance, const Device& device,
                             Stream stream) const noexcept {
  const Arch arch = device.arch();
  if (!has(arch)) return built_for(arch, instance);
  if (const Status status = check(call, arch); !status.ok())
    return about(status, call.symbol != nullptr ? call.symbol : instance.name, arch);
  Status failure;
  void* function = function_of(call, instance, device, failure);
  if (function == nullptr) return failure;
  const Status status = runtime_of(device)->launch(function, call, stream);
  return status.ok() ? status : about(status, call.symbol, arch);
}

Status DeviceProgram::launch(PrepareFn prepare, const Launch& launch, const Device& device) const noexcept {
  KernelCall call;
  call.reset();
  const Status status = prepare(launch, device.arch(), device.cu_num(), call);
  return status.ok() ? submit(call, *launch.instance, device, launch.stream) : status;
}

}  // namespace ckgen::inline v1::detail
