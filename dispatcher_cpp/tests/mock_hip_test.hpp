// A fixture whose GPU is the mock HIP runtime's.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include <ckgen/ckgen.hpp>

#include "mock_hip/mock_hip.hpp"

/// What the mock offers beside HIP, found as ckgen finds HIP.
struct MockHip {
  int (*set_device)(int);
  decltype(&mock_hip_counts) counts;
  decltype(&mock_hip_last_launch) last_launch;
  decltype(&mock_hip_launch) launch;
  decltype(&mock_hip_last_clear) last_clear;
  decltype(&mock_hip_last_digest) last_digest;
  decltype(&mock_hip_fail) fail;

  static const MockHip& instance() {
    static const MockHip mock = [] {
      setenv("CKGEN_HIP_LIBRARY", CKGEN_MOCK_HIP, 1);
      void* library = dlopen(CKGEN_MOCK_HIP, RTLD_NOW);
      if (library == nullptr) std::abort();
      const auto find = [&]<class Function>(Function*& out, const char* name) {
        out = reinterpret_cast<Function*>(dlsym(library, name));
        if (out == nullptr) std::abort();
      };
      MockHip found{};
      find(found.set_device, "hipSetDevice");
      find(found.counts, "mock_hip_counts");
      find(found.last_launch, "mock_hip_last_launch");
      find(found.launch, "mock_hip_launch");
      find(found.last_clear, "mock_hip_last_clear");
      find(found.last_digest, "mock_hip_last_digest");
      find(found.fail, "mock_hip_fail");
      return found;
    }();
    return mock;
  }
};

class MockHipTest : public ::testing::Test {
 protected:
  /// Makes a device of the mock the thread's: 0 gfx942:304, 1 gfx942:80, 2 gfx950:256, 3 gfx1100:48.
  ckgen::Device device(int id) const {
    EXPECT_EQ(mock.set_device(id), 0);
    return ckgen::Device::current();
  }
  void TearDown() override {
    mock.fail("", 0);
    EXPECT_EQ(mock.set_device(0), 0);
  }

  const MockHip& mock = MockHip::instance();
};
