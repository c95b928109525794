// Device memory: host mappings with inaccessible pages around each, so that no two of them are neighbours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "executor.hpp"

namespace ckgen::shim {

enum class Place : std::uint8_t {
  elsewhere,  // host memory that is not ours
  device,
  pinned,   // host memory that kernels may use too
  outside,  // it begins in one of ours and ends beyond it
};

/// Thread-safe.
class Heap {
 public:
  explicit Heap(Executor& executor) noexcept : executor_(executor) {}
  ~Heap();
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  /// Aligned to 4096 bytes. Device memory counts as uninitialised and holds 0xff, a NaN in most formats; pinned memory
  /// is zero. Null if there is none.
  void* allocate(std::size_t bytes, Place place);
  /// False if nothing of that place begins there.
  bool release(void* memory, Place place);
  Place place_of(const void* memory, std::size_t bytes) const;
  /// From now on these bytes, wherever they are, count as initialised.
  void mark_written(void* memory, std::size_t bytes);

 private:
  struct Block {
    std::size_t bytes;
    std::size_t mapped;  // with the guards
    Place place;
  };

  Executor& executor_;
  mutable std::mutex mutex_;
  std::map<std::uintptr_t, Block> blocks_;
};

}  // namespace ckgen::shim
