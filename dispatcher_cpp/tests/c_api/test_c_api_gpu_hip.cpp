// The C API's memory and events of a GPU, on the mock HIP runtime.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>

#include <ckgen/c_api_gpu.h>

#include "mock_hip_test.hpp"

namespace test_c_api_gpu_hip {

class CApiGpuHip : public MockHipTest {
 protected:
  CApiGpuHip() {
    EXPECT_EQ(mock.set_device(0), 0);
    EXPECT_EQ(ckgen_device_current(&gpu, message()), CKGEN_OK) << text;
  }
  ~CApiGpuHip() override { ckgen_device_destroy(gpu); }
  ckgen_message message() { return {text, sizeof text}; }

  ckgen_device* gpu = nullptr;
  char text[512] = {};
};

TEST_F(CApiGpuHip, WhatIsUploadedComesBackAndTheDriverIsNamed) {
  ASSERT_EQ(ckgen_gpu_driver(gpu, message()), CKGEN_OK) << text;
  EXPECT_STREQ(text, "HIP 60443484");
  const std::array<std::uint64_t, 3> sent = {1, 2, 3};
  std::array<std::uint64_t, 3> back = {};
  void* memory = nullptr;
  ASSERT_EQ(ckgen_gpu_allocate(gpu, sizeof sent, &memory, message()), CKGEN_OK) << text;
  EXPECT_EQ(ckgen_gpu_upload(gpu, memory, sent.data(), sizeof sent, message()), CKGEN_OK) << text;
  EXPECT_EQ(ckgen_gpu_synchronize(gpu, nullptr, message()), CKGEN_OK) << text;
  EXPECT_EQ(ckgen_gpu_download(gpu, back.data(), memory, sizeof back, message()), CKGEN_OK) << text;
  EXPECT_EQ(back, sent);
  mock.fail("hipMemcpy", 700);
  EXPECT_NE(ckgen_gpu_upload(gpu, memory, sent.data(), sizeof sent, message()), CKGEN_OK);
  EXPECT_NE(std::string(text).find("hipMemcpy"), std::string::npos) << text;
  EXPECT_EQ(ckgen_gpu_release(gpu, memory, message()), CKGEN_OK) << text;
}

TEST_F(CApiGpuHip, EventsTellTheTimeBetweenThem) {
  ckgen_event *begin = nullptr, *end = nullptr;
  ASSERT_EQ(ckgen_event_create(gpu, &begin, message()), CKGEN_OK) << text;
  ASSERT_EQ(ckgen_event_create(gpu, &end, message()), CKGEN_OK) << text;
  EXPECT_EQ(ckgen_event_record(begin, nullptr, message()), CKGEN_OK) << text;
  EXPECT_EQ(ckgen_event_record(end, nullptr, message()), CKGEN_OK) << text;
  double microseconds = -1;
  EXPECT_EQ(ckgen_event_elapsed(begin, end, &microseconds, message()), CKGEN_OK) << text;
  EXPECT_GE(microseconds, 0.0);
  ckgen_event_destroy(begin);
  ckgen_event_destroy(end);
}

TEST_F(CApiGpuHip, ARuntimeWithoutGraphsOrPlacesOnTheBusSaysSo) {
  void* stream = nullptr;
  EXPECT_EQ(ckgen_stream_create(gpu, &stream, message()), CKGEN_UNSUPPORTED);
  EXPECT_STREQ(text, "the HIP library has no hipStreamCreateWithFlags");
  EXPECT_EQ(ckgen_gpu_bus(gpu, message()), CKGEN_OK);
  EXPECT_STREQ(text, "");
}

}  // namespace test_c_api_gpu_hip
