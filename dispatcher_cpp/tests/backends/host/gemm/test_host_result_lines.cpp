// Which rows of C stay in a first-level cache.
#include "backends/host/gemm/result_lines.hpp"

#include <gtest/gtest.h>

namespace test_host_result_lines {

using ckgen::host::stays_in_cache;

TEST(HostResultLines, RowsAPageApartShareASetOfEightWays) {
  EXPECT_TRUE(stays_in_cache(7, 4096));
  EXPECT_FALSE(stays_in_cache(8, 4096));
  EXPECT_FALSE(stays_in_cache(8, 3 * 4096));
  EXPECT_TRUE(stays_in_cache(14, 2048));
  EXPECT_FALSE(stays_in_cache(15, 2048));
  EXPECT_TRUE(stays_in_cache(16, 4096 + 64));
  EXPECT_TRUE(stays_in_cache(14, 4));
}

}  // namespace test_host_result_lines
