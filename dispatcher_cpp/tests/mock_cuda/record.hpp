// What the mock's calls share. Its lock is held by whoever reads or writes the record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "mock_cuda.hpp"

namespace mock_cuda {

inline constexpr int kInvalidValue = 1;
inline constexpr int kNotInitialized = 3;
inline constexpr int kInvalidDevice = 101;
inline constexpr int kInvalidContext = 201;
inline constexpr int kNoBinaryForGpu = 209;
inline constexpr int kIllegalState = 401;
inline constexpr int kNotFound = 500;
inline constexpr int kCaptureUnsupported = 900;
inline constexpr int kModules = 64;
inline constexpr int kFunctions = 64;

struct MockModule {
  int device;
  const char* image;
  bool live;
};

struct MockFunction {
  const MockModule* module;
  const char* symbol;
  int most_shared;
};

using Work = std::vector<std::function<void()>>;

struct Record {
  std::mutex mutex;
  std::map<void*, Work> captures;  // by stream
  bool initialized;
  MockModule modules[kModules];
  MockFunction functions[kFunctions];
  MockCudaCounts counts;
  std::uint64_t renewals = 0;
  MockCudaLaunch launch;
  int replayed;  // of launches and clears
  char failing[40];
  int failure;

  int told_to_fail(const char* call) {
    ++counts.sequence;
    return std::strcmp(failing, call) == 0 ? failure : 0;
  }
};

extern Record record;

/// Done now, or kept where the stream is captured; the record is locked.
void submit(void* stream, std::function<void()> work);
/// What a call that needs a context answers: a test's code, or that there is none.
int refused(const char* call);
/// Another one for each thread that lives.
std::uint64_t number_of_thread();

}  // namespace mock_cuda
