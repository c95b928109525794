#include "heap.hpp"

#include <sys/mman.h>

#include <cstring>
#include <limits>

namespace ckgen::shim {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kGuard = 65536;  // on each side
constexpr int kPoison = 0xff;

}  // namespace

Heap::~Heap() {
  for (const auto& [base, block] : blocks_) munmap(reinterpret_cast<void*>(base - kGuard), block.mapped);
}

void* Heap::allocate(std::size_t bytes, Place place) {
  if (bytes > std::numeric_limits<std::size_t>::max() / 2) return nullptr;
  const std::size_t usable = (bytes + kPage - 1) / kPage * kPage;
  const std::size_t mapped = usable + 2 * kGuard;
  void* mapping = mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) return nullptr;
  char* memory = static_cast<char*>(mapping) + kGuard;
  const bool pinned = place == Place::pinned;
  if (mprotect(memory, usable, PROT_READ | PROT_WRITE) != 0 || !executor_.add_memory(memory, bytes, pinned)) {
    munmap(mapping, mapped);
    return nullptr;
  }
  if (!pinned) std::memset(memory, kPoison, bytes);
  const std::lock_guard lock(mutex_);
  blocks_.emplace(reinterpret_cast<std::uintptr_t>(memory), Block{bytes, mapped, place});
  return memory;
}

bool Heap::release(void* memory, Place place) {
  const auto base = reinterpret_cast<std::uintptr_t>(memory);
  std::size_t mapped = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(base);
    if (found == blocks_.end() || found->second.place != place) return false;
    mapped = found->second.mapped;
    blocks_.erase(found);
  }
  executor_.remove_memory(memory);
  munmap(static_cast<char*>(memory) - kGuard, mapped);
  return true;
}

Place Heap::place_of(const void* memory, std::size_t bytes) const {
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  const std::lock_guard lock(mutex_);
  auto after = blocks_.upper_bound(address);
  if (after == blocks_.begin()) return Place::elsewhere;
  const auto& [base, block] = *--after;
  if (address - base >= block.bytes) return Place::elsewhere;
  return bytes <= block.bytes - (address - base) ? block.place : Place::outside;
}

void Heap::mark_written(void* memory, std::size_t bytes) {
  if (place_of(memory, bytes) == Place::device) executor_.mark_written(memory, bytes);
}

}  // namespace ckgen::shim
