// What tests of the C API ask: a dispatcher over one library, on a simulated device.
#pragma once

#include <gtest/gtest.h>

#include <ckgen/c_api.h>
#include <ckgen/library.hpp>

namespace tiny {

class CApiFixture : public ::testing::Test {
 protected:
  /// In SetUp.
  void open(const ckgen::Library& opened) {
    ASSERT_EQ(ckgen_registry_create(&registry, message()), CKGEN_OK);
    ASSERT_EQ(ckgen_registry_add_library(registry, &opened, message()), CKGEN_OK) << text;
    ckgen_options options{};
    options.size = sizeof options;
    ASSERT_EQ(ckgen_dispatcher_create(registry, &options, &dispatcher, message()), CKGEN_OK) << text;
    ASSERT_EQ(ckgen_device_simulated("gfx942:304", 0, &device, message()), CKGEN_OK) << text;
  }
  void TearDown() override {
    ckgen_device_destroy(device);
    ckgen_dispatcher_destroy(dispatcher);
    ckgen_registry_destroy(registry);
  }
  ckgen_message message() { return {text, sizeof text}; }

  ckgen_registry* registry = nullptr;
  ckgen_dispatcher* dispatcher = nullptr;
  ckgen_device* device = nullptr;
  char text[512] = {};
};

}  // namespace tiny
