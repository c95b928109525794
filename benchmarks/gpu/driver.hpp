// NVIDIA's driver as far as programs beside the dispatcher need it: memory, streams, graphs, a sweep of the L2. Nothing
// is linked; every call that fails ends the program.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace gpu {

using Address = std::uint64_t;

inline void* library() {
  static void* const opened = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  return opened;
}

/// A function of the driver by its name, called with these arguments.
template <class... Arguments>
void call(const char* name, Arguments... arguments) {
  const auto function = reinterpret_cast<int (*)(Arguments...)>(dlsym(library(), name));
  const int code = function != nullptr ? function(arguments...) : -1;
  if (code == 0) return;
  std::fprintf(stderr, "%s answered with %d\n", name, code);
  std::exit(1);
}

inline void* allocate(std::size_t bytes) {
  Address memory = 0;
  call("cuMemAlloc_v2", &memory, bytes);
  return reinterpret_cast<void*>(memory);
}
inline void release(void* memory) {
  call("cuMemFree_v2", reinterpret_cast<Address>(memory));
}
inline void to_device(void* to, const void* from, std::size_t bytes) {
  call("cuMemcpyHtoD_v2", reinterpret_cast<Address>(to), from, bytes);
}
inline void to_host(void* to, const void* from, std::size_t bytes) {
  call("cuMemcpyDtoH_v2", to, reinterpret_cast<Address>(from), bytes);
}
inline void fill(void* to, unsigned char byte, std::size_t bytes) {
  call("cuMemsetD8_v2", reinterpret_cast<Address>(to), byte, bytes);
}
inline void* new_stream() {
  void* stream = nullptr;
  call("cuStreamCreate", &stream, 1U);
  return stream;
}
inline void wait(void* stream) {
  call("cuStreamSynchronize", stream);
}

/// Events of one stream, and the microseconds between them.
class Timer {
 public:
  Timer() {
    call("cuEventCreate", &begin_, 0U);
    call("cuEventCreate", &end_, 0U);
  }
  void start(void* stream) { call("cuEventRecord", begin_, stream); }
  void stop(void* stream) { call("cuEventRecord", end_, stream); }
  double microseconds() {
    call("cuEventSynchronize", end_);
    float milliseconds = 0;
    call("cuEventElapsedTime", &milliseconds, begin_, end_);
    return double{milliseconds} * 1000;
  }

 private:
  void* begin_ = nullptr;
  void* end_ = nullptr;
};

/// Reads memory of several times the L2, which leaves clean lines there: a memset's dirty ones would be written back
/// while the next kernel runs. The kernel is that of sweep.cu.
class Sweep {
 public:
  explicit Sweep(const std::string& cubin) : memory_(allocate(kBytes)), sum_(allocate(256)) {
    void* module = nullptr;
    call("cuModuleLoad", &module, cubin.c_str());
    call("cuModuleGetFunction", &function_, module, "sweep");
    fill(memory_, 1, kBytes);
  }
  void operator()(void* stream, std::uint64_t count = kBytes / 16, unsigned blocks = 1056) {
    void* arguments[] = {&memory_, &count, &sum_};
    call("cuLaunchKernel", function_, blocks, 1U, 1U, 512U, 1U, 1U, 0U, stream, static_cast<void**>(arguments),
         static_cast<void**>(nullptr));
  }

 private:
  static constexpr std::size_t kBytes = 256U << 20;
  void* memory_;
  void* sum_;
  void* function_ = nullptr;
};

}  // namespace gpu
