// What a test can ask the mock CUDA driver, by dlsym. A cubin is an image of mock_gpu.hpp whose machine is CUDA.
#pragma once

#include <cstddef>
#include <cstdint>

struct MockCudaLaunch {
  char symbol[128];
  unsigned grid[3], block[3], cluster[3], shared;
  void* stream;
  int device;
  int sequence;  // counts every call that a test can make fail
  bool aligned;  // the argument, to 128 bytes
  unsigned char args[256];
};

/// What the argument of a kernel begins with that runs on this CPU.
struct MockCudaRun {
  std::uint64_t magic;
  void (*kernel)(const void* argument);
};
inline constexpr std::uint64_t kMockCudaRun = 0x6d6f636b2072756e;

struct MockCudaCounts {
  int inits, retains, loads, unloads, functions, limits, launches, clears, maps;
  int sequence;
  int events, streams, graphs;  // that live
  int frees;
};

extern "C" {
MockCudaCounts mock_cuda_counts();
MockCudaLaunch mock_cuda_last_launch();
/// From now on `call` answers with `code`; 0 ends it.
void mock_cuda_fail(const char* call, int code);
/// From now on every address but those of the driver's own streams is another stream's than before.
void mock_cuda_renew_streams();
/// Makes the device's primary context the thread's; -1: none.
void mock_cuda_enter(int device);
}
