// For programs of one translation unit: counts what operator new makes, and reads this thread's own time.
#pragma once

#include <time.h>
#include <cstdlib>
#include <new>

namespace counted {

inline long allocations = 0;

/// CPU time of this thread in ns: what other processes take of the core does not count.
inline double now_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e9 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec);
}

}  // namespace counted

void* operator new(std::size_t bytes) {
  ++counted::allocations;
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
