#include "backends/host/gemm/shares.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace test_host_shares {

using ckgen::host::Shares;

TEST(Shares, EachSlotTakesItsOwnFirstAndThenWhatOthersLeft) {
  Shares shares(10, 2);
  EXPECT_EQ(shares.take(0), 0);
  EXPECT_EQ(shares.take(1), 5);
  std::vector<std::int64_t> rest;
  for (int i = 0; i < 8; ++i) rest.push_back(shares.take(1));
  EXPECT_EQ(rest, (std::vector<std::int64_t>{6, 7, 8, 9, 1, 2, 3, 4}));
}

TEST(Shares, EachItemIsTakenOnce) {
  for (const int slots : {1, 2, 3, 16, 40})
    for (const std::int64_t count : {1, 2, 7, 33, 100}) {
      Shares shares(count, slots);
      std::vector<std::int64_t> taken, all;
      for (std::int64_t i = 0; i < count; ++i) {
        taken.push_back(shares.take(static_cast<int>(i * 7 % slots)));
        all.push_back(i);
      }
      std::sort(taken.begin(), taken.end());
      EXPECT_EQ(taken, all) << count << " of " << slots;
    }
}

}  // namespace test_host_shares
