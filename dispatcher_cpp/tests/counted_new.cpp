#include "counted_new.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<long> count{0};

void* counted(std::size_t bytes) {
  ++count;
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
  ++count;
  return std::malloc(bytes);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  ++count;
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
  return count;
}
