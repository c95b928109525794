// The one simulated device of a process, and everything that belongs to it.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "executor.hpp"
#include "heap.hpp"
#include "hip_abi.hpp"
#include "operation.hpp"
#include "report.hpp"
#include "settings.hpp"
#include "streams.hpp"

namespace ckgen::shim {

/// A kernel of a module, which may be gone.
struct Function {
  std::weak_ptr<LoadedModule> module;
  std::size_t kernel = 0;
};

struct Graph {
  std::shared_ptr<const Operations> operations;
};

/// Objects that callers hold by their address. Thread-safe.
template <class Object>
class Handles {
 public:
  Object* add(Object object) {
    auto owned = std::make_unique<Object>(std::move(object));
    Object* handle = owned.get();
    const std::lock_guard lock(mutex_);
    all_.emplace(handle, std::move(owned));
    return handle;
  }
  /// A copy; false if there is none of that address.
  bool find(const void* handle, Object& out) const {
    const std::lock_guard lock(mutex_);
    const auto found = all_.find(handle);
    if (found == all_.end()) return false;
    out = *found->second;
    return true;
  }
  bool remove(const void* handle) {
    std::unique_ptr<Object> removed;  // destroyed without the lock
    const std::lock_guard lock(mutex_);
    const auto found = all_.find(handle);
    if (found == all_.end()) return false;
    removed = std::move(found->second);
    all_.erase(found);
    return true;
  }

 private:
  mutable std::mutex mutex_;
  std::map<const void*, std::unique_ptr<Object>> all_;
};

class Runtime {
 public:
  /// Made at first use and never destroyed. Null where the environment configures none; stderr says once why.
  static Runtime* instance() noexcept;

  explicit Runtime(Settings from);

  /// Does it now. An Error; kLaunchFailure if the kernel was found to be wrong, which the report then says.
  int perform(const Operation& operation);

  Settings settings;
  Executor executor;
  Heap heap;
  Report report;
  Streams streams;
  Handles<std::shared_ptr<LoadedModule>> modules;
  Handles<Function> functions;
  Handles<Graph> graphs;
  Handles<Graph> executables;

 private:
  int run(const LaunchOperation& launch);
  int run(const FillOperation& fill);
  int run(const CopyOperation& copy);
};

/// Remembers an error for hipGetLastError, and hands it on.
int answer(int error) noexcept;
/// The thread's last error; `clear`: forgets it.
int last_error(bool clear) noexcept;

/// Calls `body` with the runtime; answers with what it returns.
template <class Body>
int with_runtime(Body body) noexcept {
  try {
    Runtime* runtime = Runtime::instance();
    return answer(runtime != nullptr ? static_cast<int>(body(*runtime)) : kNoDevice);
  } catch (...) {
    return answer(kOutOfMemory);
  }
}

}  // namespace ckgen::shim
