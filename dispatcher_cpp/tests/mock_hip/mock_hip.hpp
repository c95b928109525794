// What a test can ask the mock HIP runtime, by dlsym.
#pragma once

#include <cstddef>
#include <cstdint>

struct MockLaunch {
  char symbol[128];
  unsigned grid[3], block[3], shared;
  void* stream;
  int device;
  int sequence;  // counts every module, memset and launch call of the process
  std::size_t args_size;
  unsigned char args[1024];
};

struct MockClear {
  void* memory;
  std::size_t pitch, width, rows;  // pitch 0: hipMemsetAsync
  void* stream;
  int sequence;
};

struct MockCounts {
  int loads, unloads, functions, launches, clears;
  int sequence;
  int events;  // that live
};

extern "C" {
MockCounts mock_hip_counts();
MockLaunch mock_hip_last_launch();
/// The launch of that number, from 0; the last 64 are kept.
MockLaunch mock_hip_launch(int number);
MockClear mock_hip_last_clear();
/// FNV-1a of the image that was loaded last.
std::uint64_t mock_hip_last_digest();
/// From now on `call` answers with `code`; 0 ends it.
void mock_hip_fail(const char* call, int code);
}
