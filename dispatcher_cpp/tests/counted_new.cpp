#include "counted_new.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<long> count{0};

/// Relaxed: a counter that ordered the threads which allocate would hide their races from ThreadSanitizer.
void add_one() noexcept {
  count.fetch_add(1, std::memory_order_relaxed);
}

void* counted(std::size_t bytes) {
  add_one();
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}

/// Out of line: GCC takes free() of what operator new returned for a mistake where it sees both.
[[gnu::noinline]] void released(void* memory) noexcept {
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t bytes) {
  return counted(bytes);
}
void* operator new[](std::size_t bytes) {
  return counted(bytes);
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  add_one();
  return std::malloc(bytes);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  add_one();
  return std::malloc(bytes);
}
void operator delete(void* memory) noexcept {
  released(memory);
}
void operator delete[](void* memory) noexcept {
  released(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  released(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  released(memory);
}

long allocations() noexcept {
  return count.load(std::memory_order_relaxed);
}
