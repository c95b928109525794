// Tasks of neighbouring rows go to one thread, and every task to some.
#include "backends/host/shares.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace host_test {
namespace test_host_shares {

using ckgen::host::Shares;

/// What the slots get, in their turns.
std::vector<std::int64_t> taken(std::int64_t count, int threads, const std::vector<int>& slots) {
  Shares shares(count, threads);
  std::vector<std::int64_t> found;
  for (const int slot : slots) found.push_back(shares.take(slot));
  return found;
}

TEST(HostShares, OfAThreadAreNeighbours) {
  using Tasks = std::vector<std::int64_t>;
  EXPECT_EQ(taken(6, 2, {0, 1, 0, 1, 0, 1}), (Tasks{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(taken(7, 3, {2, 1, 0, 2, 2, 1, 0}), (Tasks{4, 2, 0, 5, 6, 3, 1}));
}

TEST(HostShares, WhoHasNoneLeftTakesOthers) {
  using Tasks = std::vector<std::int64_t>;
  EXPECT_EQ(taken(6, 2, {1, 1, 1, 1, 0, 1}), (Tasks{3, 4, 5, 0, 1, 2}));
  EXPECT_EQ(taken(1, 8, {3}), (Tasks{0}));
  EXPECT_EQ(taken(2, 1000, {999, 64}), (Tasks{1, 0})) << "shares that several threads have";
}

TEST(HostShares, EveryTaskIsTakenOnce) {
  for (const int threads : {1, 3, 64, 100})
    for (const std::int64_t count : {1, 64, 200}) {
      Shares shares(count, threads);
      std::vector<int> times(static_cast<std::size_t>(count));
      for (std::int64_t i = 0; i < count; ++i)
        ++times[static_cast<std::size_t>(shares.take(static_cast<int>(i * 7) % threads))];
      EXPECT_EQ(times, std::vector<int>(static_cast<std::size_t>(count), 1)) << threads << " threads";
    }
}

}  // namespace test_host_shares
}  // namespace host_test
