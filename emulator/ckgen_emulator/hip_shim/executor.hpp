// The emulator core behind its C interface, opened at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "settings.hpp"

struct ckgen_emu;
struct ckgen_emu_module;

namespace ckgen::shim {

/// The functions of the core's C interface that the shim calls.
struct CoreFunctions;

struct KernelArgument {
  std::uint32_t offset = 0, size = 0;
};

/// What a launch must know of a kernel.
struct KernelInfo {
  std::string name;
  std::vector<KernelArgument> arguments;  // without the hidden ones
};

struct Dispatch {
  std::uint32_t grid[3] = {1, 1, 1};
  std::uint32_t block[3] = {1, 1, 1};
  std::uint32_t dynamic_lds = 0;
  std::vector<std::uint8_t> args;  // of the kernarg segment
};

struct LaunchFinding {
  std::string rule, instruction, what;
  std::uint32_t address = 0, group[3] = {0, 0, 0}, wave = 0;
  std::int32_t lane = -1;
  std::uint64_t count = 0;
};

struct LaunchOutcome {
  bool ran = false;
  std::string error;  // why it did not
  std::uint64_t instructions = 0, groups = 0, waves = 0;
  std::uint32_t occupancy = 0;
  // Named as in emulator/ckgen_emulator/bindings.py.
  std::vector<std::pair<const char*, std::uint64_t>> by_class, counts;
  std::vector<LaunchFinding> findings;
  std::string origin;  // JSON of what wrote the watched memory last; empty: nothing is watched
};

class LoadedModule;

/// One simulated chip. Thread-safe; launches happen one at a time.
class Executor {
 public:
  /// Throws std::runtime_error: a library or table that cannot be opened, or that does not fit.
  explicit Executor(const Settings& settings);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  bool add_memory(void* memory, std::size_t bytes, bool written);
  void remove_memory(void* memory);
  void mark_written(void* memory, std::size_t bytes);
  /// An Error; kInvalidImage and kNoBinaryForGpu say why on stderr.
  int load(const void* bytes, std::size_t size, std::shared_ptr<LoadedModule>& out);
  /// An Error, with its reason on stderr, for a dispatch that the chip does not take; arguments are not looked at.
  int check(const LoadedModule& module, const KernelInfo& kernel, const Dispatch& dispatch);
  /// Launches from now on tell what wrote those bytes last; no bytes: no longer.
  void watch(const void* memory, std::size_t bytes);
  LaunchOutcome launch(const LoadedModule& module, const KernelInfo& kernel, const Dispatch& dispatch);
  /// Whether a launch with findings fails.
  bool findings_fail() const noexcept { return settings_.options.findings_fail; }

 private:
  friend class LoadedModule;

  std::unique_ptr<CoreFunctions> core_;
  Settings settings_;
  ckgen_emu* chip_ = nullptr;
  std::mutex launching_;
  std::uint64_t watched_ = 0, watched_bytes_ = 0;
};

/// One code object on the chip, unloaded when nobody holds it.
class LoadedModule {
 public:
  LoadedModule(Executor& on, ckgen_emu_module* handle, std::vector<KernelInfo> kernels) noexcept
      : executor_(on), handle_(handle), kernels_(std::move(kernels)) {}
  ~LoadedModule();
  LoadedModule(const LoadedModule&) = delete;
  LoadedModule& operator=(const LoadedModule&) = delete;

  const std::vector<KernelInfo>& kernels() const noexcept { return kernels_; }

 private:
  friend class Executor;

  Executor& executor_;
  ckgen_emu_module* handle_;
  std::vector<KernelInfo> kernels_;
};

}  // namespace ckgen::shim
