// The hash and the ladder of ckgen/lookup.hpp against plain lists.
#include <ckgen/lookup.hpp>

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace {

TEST(GroupSlot, IsTheOneOfThePythonGenerator) {
  // The same four numbers are asserted of group_slot in tests/families/common/test_ladder.py.
  EXPECT_EQ(ckgen::group_slot(1, 1, 0, (1U << 20) - 1), 0x1d81fU);
  EXPECT_EQ(ckgen::group_slot(7168, 2048, 0, (1U << 20) - 1), 0xe1601U);
  EXPECT_EQ(ckgen::group_slot(2048, 7168, 0, (1U << 20) - 1), 0x6530fU);
  EXPECT_EQ(ckgen::group_slot(8192, 8192, 16, (1U << 20) - 1), 0x06f5aU);
}

TEST(Rungs, AnswerTheNextMeasuredSizeAtOrAbove) {
  constexpr ckgen::Rung rungs[] = {{1, 1, 1, 0}, {16, 64, 16, 1}, {96, 96, 1, 0}};
  const std::uint64_t measured[] = {1, 16, 32, 48, 64, 96};
  for (std::uint64_t m = 1; m <= 96; ++m) {
    std::uint64_t expected = 0;
    for (const std::uint64_t known : measured) {
      if (known >= m) {
        expected = known;
        break;
      }
    }
    const std::uint32_t index = ckgen::rung_at_or_above(rungs, 3, m);
    ASSERT_LT(index, 3U) << m;
    EXPECT_EQ(ckgen::measured_at_or_above(rungs[index], m), expected) << m;
  }
  EXPECT_EQ(ckgen::rung_at_or_above(rungs, 3, 97), 3U);
}

TEST(Directory, GivesTheSameRungAsSearchingTheWholeLadder) {
  constexpr ckgen::Rung rungs[] = {{1, 1, 1, 0},     {16, 64, 16, 1},       {96, 96, 1, 0},
                                   {100, 110, 5, 2}, {1024, 4096, 1024, 1}, {5000, 5000, 1, 0}};
  constexpr std::uint16_t count = 6;
  constexpr ckgen::Group group{512, 1024, 0, 0, count, 0, 0};
  std::vector<std::uint16_t> directory;
  for (std::uint32_t m = 0; m <= rungs[count - 1].last; ++m) {
    if (ckgen::ladder_bucket(m) == directory.size()) {
      directory.push_back(static_cast<std::uint16_t>(ckgen::rung_at_or_above(rungs, count, m)));
    }
  }
  directory.push_back(count);
  ckgen::LookupTable table{};
  table.groups = &group;
  table.rungs = rungs;
  table.directory = directory.data();
  table.directory_stride = static_cast<std::uint32_t>(directory.size());
  for (std::uint64_t m = 0; m < 9000; ++m) {
    ASSERT_EQ(ckgen::rung_at_or_above(table, group, m), ckgen::rung_at_or_above(rungs, count, m)) << m;
  }
  EXPECT_EQ(ckgen::rung_at_or_above(table, group, std::uint64_t{1} << 33), count);
  table.directory = nullptr;
  EXPECT_EQ(ckgen::rung_at_or_above(table, group, 97), 3U);
}

}  // namespace
