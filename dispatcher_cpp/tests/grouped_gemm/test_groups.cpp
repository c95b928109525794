// Groups against sums over all sizes in wider integers, and what saturates.
#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include <ckgen/ckgen.hpp>

namespace test_groups {

using namespace ckgen;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

TEST(Groups, SummariesAreThoseOfTheGroupsThatDoSomething) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<GroupSize> sizes(random() % 20);
    const std::int64_t grain = 1 + random() % 16;
    for (GroupSize& size : sizes)
      size = {static_cast<std::int64_t>(random() % 4) * grain, static_cast<std::int64_t>(random() % 5) * 8,
              static_cast<std::int64_t>(random() % 3) * 32};
    const Groups groups(sizes.data(), static_cast<std::int64_t>(sizes.size()));
    GroupSize largest{}, smallest{kMost, kMost, kMost}, divisor{};
    std::int64_t busy = 0, rows = 0, a = 0, b = 0, c = 0, tiles = 0;
    for (const GroupSize& size : sizes) {
      if (size.m == 0 || size.n == 0) continue;
      ++busy;
      rows += size.m;
      for (const auto axis : {&GroupSize::m, &GroupSize::n, &GroupSize::k}) {
        largest.*axis = std::max(largest.*axis, size.*axis);
        smallest.*axis = std::min(smallest.*axis, size.*axis);
        divisor.*axis = std::gcd(divisor.*axis, size.*axis);
      }
      a = std::max(a, size.m * size.k);
      b = std::max(b, size.n * size.k);
      c = std::max(c, size.m * size.n);
      tiles += ((size.m + 15) / 16) * ((size.n + 31) / 32);
    }
    EXPECT_TRUE(groups.is_valid());
    EXPECT_FALSE(groups.are_on_device());
    EXPECT_EQ(groups.busy(), busy);
    EXPECT_EQ(groups.rows(), rows);
    EXPECT_TRUE(groups.largest() == largest);
    EXPECT_TRUE(groups.smallest() == (busy == 0 ? GroupSize{} : smallest));
    EXPECT_TRUE(groups.divisor() == divisor);
    EXPECT_EQ(groups.largest_a(), a);
    EXPECT_EQ(groups.largest_b(), b);
    EXPECT_EQ(groups.largest_c(), c);
    EXPECT_EQ(groups.tiles(16, 32), tiles);
  }
}

TEST(Groups, NoneIsNotOnTheDevice) {
  const Groups none(nullptr, 0);
  EXPECT_TRUE(none.is_valid());
  EXPECT_FALSE(none.are_on_device());
  EXPECT_EQ(none.tiles(16, 16), 0);
  EXPECT_FALSE(Groups(nullptr, 1).is_valid());
  EXPECT_FALSE(Groups(nullptr, -1).is_valid());
  EXPECT_FALSE(Groups::on_device(-1, 1, 1, 1).is_valid());
}

TEST(Groups, OnTheDeviceMIsKnownByItsBoundOnly) {
  const Groups groups = Groups::on_device(8, 100, 64, 96);
  EXPECT_TRUE(groups.are_on_device());
  EXPECT_EQ(groups.count(), 8);
  EXPECT_EQ(groups.busy(), 8);
  EXPECT_EQ(groups.rows(), 800);
  EXPECT_TRUE(groups.largest() == (GroupSize{100, 64, 96}));
  EXPECT_TRUE(groups.smallest() == (GroupSize{1, 64, 96}));
  EXPECT_TRUE(groups.divisor() == (GroupSize{1, 64, 96}));
  EXPECT_EQ(groups.tiles(16, 64), 8 * 7);
  EXPECT_EQ(Groups::on_device(8, 0, 64, 96).busy(), 0);
}

TEST(Groups, WhatIsNegativeOrTooLargeIsNotValid) {
  constexpr std::int64_t large = std::int64_t{1} << 40;
  const GroupSize sizes[] = {{1, 1, 1},         {-1, 1, 1},        {large, large, 1},
                             {large, 1, large}, {1, large, large}, {kMost, 1, 1}};
  EXPECT_TRUE(Groups(sizes, 1).is_valid());
  for (int i = 1; i < 5; ++i) EXPECT_FALSE(Groups(sizes + i, 1).is_valid()) << i;
  EXPECT_EQ(Groups(sizes + 2, 1).largest_c(), kMost);
  const GroupSize two[] = {{kMost / 2 + 1, 1, 1}, {kMost / 2 + 1, 1, 1}};
  EXPECT_TRUE(Groups(two, 1).is_valid());
  EXPECT_FALSE(Groups(two, 2).is_valid()) << "their rows together";
  EXPECT_EQ(Groups(two, 2).rows(), kMost);
  EXPECT_EQ(Groups(two, 2).tiles(1, 1), kMost);
  EXPECT_FALSE(Groups::on_device(large, large, 1, 1).is_valid());
}

}  // namespace test_groups
