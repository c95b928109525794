// Sizes in a workspace, and the arithmetic by which work is shared out.
#include <gtest/gtest.h>

#include "backends/host/gemm/parts.hpp"
#include "backends/host/workspace.hpp"

namespace test_host_workspace {

using namespace ckgen::host;

TEST(HostWorkspace, WhatLiesInItTakesWholeCacheLines) {
  for (const std::size_t lines : {0U, 1U, 7U}) {
    EXPECT_EQ(aligned_64(64 * lines), 64 * lines);
    EXPECT_EQ(aligned_64(64 * lines + 1), 64 * (lines + 1));
    EXPECT_EQ(aligned_64(64 * lines + 63), 64 * (lines + 1));
  }
  EXPECT_EQ(words_bytes(5, 3), 64U);
  EXPECT_EQ(words_bytes(4, 4), 64U);
  EXPECT_EQ(words_bytes(17, 1), 128U);
  EXPECT_EQ(words_bytes(0, 9), 0U);
}

TEST(HostWorkspace, AMultiplyAddCountsAsTwo) {
  EXPECT_EQ(flops_of(2, 3, 5), 60.0);
  EXPECT_EQ(flops_of(std::int64_t{1} << 31, std::int64_t{1} << 31, 4), 0x1p65);
}

}  // namespace test_host_workspace
