// What the mock's calls share. Its lock is held by whoever reads or writes the record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "../mock_gpu/mock_gpu.hpp"
#include "mock_cuda.hpp"

namespace mock_cuda {

using namespace mock_gpu;

inline constexpr int kNotInitialized = 3;
inline constexpr int kInvalidContext = 201;
inline constexpr int kIllegalState = 401;
inline constexpr int kCaptureUnsupported = 900;
inline constexpr int kFunctions = 64;

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
  Failing failing;

  int told_to_fail(const char* call) {
    ++counts.sequence;
    return failing.code_of(call);
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
