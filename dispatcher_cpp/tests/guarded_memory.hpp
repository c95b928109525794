// Memory that ends where no byte can be touched.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>

namespace host_test {

/// `bytes` of zeros, the next byte of which faults. Not for several threads.
class GuardedMemory {
 public:
  explicit GuardedMemory(std::size_t bytes) : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    whole_ = (bytes + page_ - 1) / page_ * page_ + page_;
    room_ = static_cast<char*>(mmap(nullptr, whole_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (room_ == MAP_FAILED || mprotect(room_ + whole_ - page_, page_, PROT_NONE) != 0) return;
    memory_ = room_ + whole_ - page_ - bytes;
  }
  ~GuardedMemory() {
    if (room_ != MAP_FAILED) munmap(room_, whole_);
  }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  /// Null where the system gave none.
  char* get() const { return memory_; }

 private:
  std::size_t page_, whole_ = 0;
  char* room_ = nullptr;
  char* memory_ = nullptr;
};

/// Runs `touch`, which ends the process at the byte behind a GuardedMemory. A sanitizer's report of that would take
/// longer than the tests.
template <class Touch>
void fault(const Touch& touch) {
  std::signal(SIGSEGV, SIG_DFL);
  touch();
}

}  // namespace host_test
