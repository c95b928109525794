// Scratch memory that grows per (device, stream) and is kept until the dispatcher goes.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>

#include <ckgen/device.hpp>
#include <ckgen/instance.hpp>

#include "src/gpu/runtime.hpp"

namespace ckgen::inline v1::detail {

/// Thread-safe. Host memory is 64-byte aligned; a GPU's is that GPU's.
class WorkspacePool {
 private:
  struct Entry;

 public:
  WorkspacePool() = default;
  ~WorkspacePool();
  WorkspacePool(const WorkspacePool&) = delete;
  WorkspacePool& operator=(const WorkspacePool&) = delete;

  /// Holds one stream's memory: nobody else launches into it before this is gone. On a GPU the stream's own order
  /// protects the memory afterwards. A stream that has the address of one which was destroyed gets memory of its own,
  /// as work of the other may be under way; but not while it is captured, as what is captured runs elsewhere.
  class Lease {
   public:
    void* memory() const noexcept;

   private:
    friend class WorkspacePool;
    Entry* entry_ = nullptr;
    std::unique_lock<std::mutex> lock_;
  };

  Status acquire(const Device& device, Stream stream, std::uint64_t bytes, Lease& lease) noexcept;

 private:
  struct Entry {
    explicit Entry(const GpuRuntime* of) noexcept : runtime(of) {}
    const GpuRuntime* const runtime;  // null for host memory
    std::mutex mutex;                 // of what follows
    std::uint64_t stream = 0;         // whose the memory is: GpuRuntime::stream_id
    void* memory = nullptr;
    std::uint64_t bytes = 0;
  };
  using Key = std::tuple<const GpuRuntime*, int, Stream, std::thread::id>;  // of a device its id; whose stream

  static Status grow(Entry& entry, std::uint64_t bytes) noexcept;
  static void release(Entry& entry) noexcept;

  std::mutex mutex_;  // of the map; its entries stay where they are until the pool goes
  std::map<Key, Entry> entries_;
};

}  // namespace ckgen::inline v1::detail
