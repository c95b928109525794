// The C API's memory, events and graphs of a GPU, on the mock CUDA driver.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>

#include <ckgen/c_api_gpu.h>

#include "mock_cuda/mock_cuda.hpp"

namespace test_c_api_gpu {

// Ahead of everything that opens a runtime.
const int environment = [] {
  setenv("CKGEN_HIP_LIBRARY", "/no/such/library.so", 1);
  setenv("CKGEN_CUDA_LIBRARY", CKGEN_MOCK_CUDA, 1);
  return 0;
}();

class CApiGpu : public ::testing::Test {
 protected:
  CApiGpu() {
    void* library = dlopen(CKGEN_MOCK_CUDA, RTLD_NOW);
    fail = reinterpret_cast<decltype(fail)>(dlsym(library, "mock_cuda_fail"));
    counts = reinterpret_cast<decltype(counts)>(dlsym(library, "mock_cuda_counts"));
    if (fail == nullptr || counts == nullptr) std::abort();
    EXPECT_EQ(ckgen_device_current(&gpu, message()), CKGEN_OK) << text;
    EXPECT_EQ(ckgen_device_simulated("x86_64_v3:1", 0, &cpu, message()), CKGEN_OK) << text;
  }
  ~CApiGpu() override {
    fail("", 0);
    ckgen_device_destroy(cpu);
    ckgen_device_destroy(gpu);
  }
  ckgen_message message() { return {text, sizeof text}; }

  decltype(&mock_cuda_fail) fail = nullptr;
  decltype(&mock_cuda_counts) counts = nullptr;
  ckgen_device* gpu = nullptr;
  ckgen_device* cpu = nullptr;
  char text[512] = {};
};

TEST_F(CApiGpu, TheDriverIsNamedWithItsVersion) {
  ASSERT_EQ(ckgen_gpu_driver(gpu, message()), CKGEN_OK) << text;
  EXPECT_STREQ(text, "CUDA 13000");
}

TEST_F(CApiGpu, ThePlaceOnTheBusIsSaid) {
  ASSERT_EQ(ckgen_gpu_bus(gpu, message()), CKGEN_OK) << text;
  EXPECT_STREQ(text, "0000:10:00.0");
  EXPECT_EQ(ckgen_gpu_bus(cpu, message()), CKGEN_NO_DEVICE);
}

TEST_F(CApiGpu, AGraphDoesAtEachLaunchWhatItsStreamWasTold) {
  const MockCudaCounts before = counts();
  void* stream = nullptr;
  ckgen_event *begin = nullptr, *end = nullptr;
  ckgen_graph* graph = nullptr;
  ASSERT_EQ(ckgen_stream_create(gpu, &stream, message()), CKGEN_OK) << text;
  ASSERT_EQ(ckgen_event_create(gpu, &begin, message()), CKGEN_OK) << text;
  ASSERT_EQ(ckgen_event_create(gpu, &end, message()), CKGEN_OK) << text;
  EXPECT_NE(ckgen_event_capture(begin, stream, message()), CKGEN_OK) << "nothing is captured";
  ASSERT_EQ(ckgen_capture_begin(gpu, stream, message()), CKGEN_OK) << text;
  EXPECT_EQ(ckgen_event_capture(begin, stream, message()), CKGEN_OK) << text;
  EXPECT_EQ(ckgen_event_capture(end, stream, message()), CKGEN_OK) << text;
  ASSERT_EQ(ckgen_capture_end(gpu, stream, &graph, message()), CKGEN_OK) << text;
  EXPECT_EQ(counts().graphs, before.graphs + 1) << "what was captured is let go, what is launched lives";
  EXPECT_EQ(ckgen_graph_launch(graph, stream, message()), CKGEN_OK) << text;
  double microseconds = -1;
  EXPECT_EQ(ckgen_event_elapsed(begin, end, &microseconds, message()), CKGEN_OK) << text;
  EXPECT_EQ(microseconds, 0.0);
  ckgen_graph_destroy(graph);
  ckgen_graph_destroy(nullptr);
  ckgen_event_destroy(begin);
  ckgen_event_destroy(end);
  EXPECT_EQ(ckgen_stream_destroy(gpu, stream, message()), CKGEN_OK) << text;
  EXPECT_EQ(counts().graphs, before.graphs);
  EXPECT_EQ(counts().streams, before.streams);
}

TEST_F(CApiGpu, WhatOfAGraphTheDriverRefusesIsSaidAndLeavesNothing) {
  const MockCudaCounts before = counts();
  void* stream = nullptr;
  ckgen_graph* graph = nullptr;
  EXPECT_EQ(ckgen_stream_create(cpu, &stream, message()), CKGEN_NO_DEVICE);
  ASSERT_EQ(ckgen_stream_create(gpu, &stream, message()), CKGEN_OK) << text;
  EXPECT_EQ(ckgen_capture_begin(gpu, nullptr, message()), CKGEN_INVALID_ARGUMENT);
  ASSERT_EQ(ckgen_capture_begin(gpu, stream, message()), CKGEN_OK) << text;
  fail("cuGraphInstantiateWithFlags", 2);
  EXPECT_NE(ckgen_capture_end(gpu, stream, &graph, message()), CKGEN_OK);
  EXPECT_NE(std::string(text).find("cuGraphInstantiateWithFlags"), std::string::npos) << text;
  EXPECT_EQ(graph, nullptr);
  EXPECT_EQ(counts().graphs, before.graphs);
  fail("", 0);
  EXPECT_NE(ckgen_capture_end(gpu, stream, &graph, message()), CKGEN_OK) << "the capture has ended";
  EXPECT_EQ(ckgen_graph_launch(nullptr, stream, message()), CKGEN_INVALID_ARGUMENT);
  EXPECT_EQ(ckgen_stream_destroy(gpu, stream, message()), CKGEN_OK) << text;
}

TEST_F(CApiGpu, WhatIsUploadedComesBack) {
  const std::array<std::uint64_t, 3> sent = {1, 2, 3};
  std::array<std::uint64_t, 3> back = {};
  void* memory = nullptr;
  ASSERT_EQ(ckgen_gpu_allocate(gpu, sizeof sent, &memory, message()), CKGEN_OK) << text;
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(ckgen_gpu_upload(gpu, memory, sent.data(), sizeof sent, message()), CKGEN_OK) << text;
  EXPECT_EQ(ckgen_gpu_synchronize(gpu, nullptr, message()), CKGEN_OK) << text;
  EXPECT_EQ(ckgen_gpu_download(gpu, back.data(), memory, sizeof back, message()), CKGEN_OK) << text;
  EXPECT_EQ(back, sent);
  EXPECT_EQ(ckgen_gpu_release(gpu, memory, message()), CKGEN_OK) << text;
}

TEST_F(CApiGpu, EventsTellTheTimeBetweenThemAndAreDestroyed) {
  const int before = counts().events;
  ckgen_event *begin = nullptr, *end = nullptr;
  ASSERT_EQ(ckgen_event_create(gpu, &begin, message()), CKGEN_OK) << text;
  ASSERT_EQ(ckgen_event_create(gpu, &end, message()), CKGEN_OK) << text;
  EXPECT_EQ(counts().events, before + 2);
  EXPECT_EQ(ckgen_event_record(begin, nullptr, message()), CKGEN_OK) << text;
  EXPECT_EQ(ckgen_event_record(end, nullptr, message()), CKGEN_OK) << text;
  double microseconds = -1;
  EXPECT_EQ(ckgen_event_elapsed(begin, end, &microseconds, message()), CKGEN_OK) << text;
  EXPECT_GE(microseconds, 0.0);
  ckgen_event_destroy(begin);
  ckgen_event_destroy(end);
  ckgen_event_destroy(nullptr);
  EXPECT_EQ(counts().events, before);
}

TEST_F(CApiGpu, ADeviceThatIsNoGpuIsRefused) {
  void* memory = nullptr;
  ckgen_event* event = nullptr;
  EXPECT_EQ(ckgen_gpu_allocate(cpu, 64, &memory, message()), CKGEN_NO_DEVICE);
  EXPECT_STREQ(text, "x86_64_v3 is no GPU");
  EXPECT_EQ(ckgen_event_create(cpu, &event, message()), CKGEN_NO_DEVICE);
  EXPECT_EQ(ckgen_gpu_driver(cpu, message()), CKGEN_NO_DEVICE);
  EXPECT_EQ(memory, nullptr);
  EXPECT_EQ(event, nullptr);
}

TEST_F(CApiGpu, NullArgumentsAreRefusedByName) {
  void* memory = nullptr;
  std::uint64_t word = 0;
  double microseconds = 0;
  EXPECT_EQ(ckgen_gpu_allocate(nullptr, 64, &memory, message()), CKGEN_INVALID_ARGUMENT);
  EXPECT_EQ(ckgen_gpu_allocate(gpu, 64, nullptr, message()), CKGEN_INVALID_ARGUMENT);
  EXPECT_EQ(ckgen_gpu_upload(gpu, nullptr, &word, sizeof word, message()), CKGEN_INVALID_ARGUMENT);
  EXPECT_EQ(ckgen_gpu_download(gpu, &word, nullptr, sizeof word, message()), CKGEN_INVALID_ARGUMENT);
  EXPECT_EQ(ckgen_gpu_upload(gpu, nullptr, nullptr, 0, message()), CKGEN_OK) << text;
  EXPECT_EQ(ckgen_event_create(gpu, nullptr, message()), CKGEN_INVALID_ARGUMENT);
  EXPECT_EQ(ckgen_event_record(nullptr, nullptr, message()), CKGEN_INVALID_ARGUMENT);
  EXPECT_EQ(ckgen_event_elapsed(nullptr, nullptr, &microseconds, message()), CKGEN_INVALID_ARGUMENT);
}

TEST_F(CApiGpu, WhatTheDriverRefusesIsSaid) {
  void* memory = nullptr;
  std::uint64_t word = 0;
  fail("cuMemAlloc", 2);
  EXPECT_NE(ckgen_gpu_allocate(gpu, 64, &memory, message()), CKGEN_OK);
  EXPECT_NE(std::string(text).find("cuMemAlloc"), std::string::npos) << text;
  fail("cuMemcpyDtoH", 700);
  EXPECT_NE(ckgen_gpu_download(gpu, &word, &word, sizeof word, message()), CKGEN_OK);
  EXPECT_NE(std::string(text).find("cuMemcpyDtoH"), std::string::npos) << text;
  const int before = counts().events;
  ckgen_event* event = nullptr;
  fail("cuEventCreate", 2);
  EXPECT_NE(ckgen_event_create(gpu, &event, message()), CKGEN_OK);
  EXPECT_EQ(event, nullptr);
  EXPECT_EQ(counts().events, before);
}

}  // namespace test_c_api_gpu
