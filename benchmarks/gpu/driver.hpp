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
inline void copy(void* to, const void* from, std::size_t bytes) {
  call("cuMemcpyDtoD_v2", reinterpret_cast<Address>(to), reinterpret_cast<Address>(from), bytes);
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

/// A kernel of sweep.cu, compiled to that file.
inline void* kernel_of(const std::string& cubin, const char* name) {
  void *module = nullptr, *function = nullptr;
  call("cuModuleLoad", &module, cubin.c_str());
  call("cuModuleGetFunction", &function, module, name);
  return function;
}
inline void launch(void* function, unsigned blocks, void** arguments, void* stream) {
  constexpr unsigned kThreads = 512;
  call("cuLaunchKernel", function, blocks, 1U, 1U, kThreads, 1U, 1U, 0U, stream, arguments,
       static_cast<void**>(nullptr));
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
  explicit Sweep(const std::string& cubin)
      : memory_(allocate(kBytes)), sum_(allocate(256)), function_(kernel_of(cubin, "sweep")) {
    fill(memory_, 1, kBytes);
  }
  void operator()(void* stream, std::uint64_t count = kBytes / 16, unsigned blocks = 1056) {
    void* arguments[] = {&memory_, &count, &sum_};
    launch(function_, blocks, arguments, stream);
  }

 private:
  static constexpr std::size_t kBytes = 256U << 20;
  void* memory_;
  void* sum_;
  void* function_;
};

/// Where two pieces of memory differ, by the kernel of sweep.cu.
class Differ {
 public:
  struct Found {
    std::uint64_t count;
    std::uint64_t first;
  };
  static constexpr std::size_t kGrain = 16;

  explicit Differ(const std::string& cubin) : found_(allocate(sizeof(Found))), function_(kernel_of(cubin, "differ")) {
    clear();
  }
  /// Adds what differs of so many bytes, a multiple of kGrain; in the order of the stream.
  void add(const void* a, const void* b, std::size_t bytes, void* stream) {
    std::uint64_t count = bytes / kGrain;
    void* arguments[] = {&a, &b, &count, &found_};
    launch(function_, 264, arguments, stream);
  }
  /// What was found since the last time, in units of kGrain bytes; waits for it.
  Found take() {
    Found found{};
    to_host(&found, found_, sizeof found);
    if (found.count != 0) clear();
    return found;
  }

 private:
  void clear() {
    const Found none{0, ~std::uint64_t{0}};
    to_device(found_, &none, sizeof none);
  }
  void* found_;
  void* function_;
};

}  // namespace gpu
