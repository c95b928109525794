// The hash and the ladder of ckgen/lookup.hpp against plain lists.
#include <ckgen/lookup.hpp>

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace {

TEST(GroupHash, IsTheOneOfThePythonGenerator) {
  // The same four numbers are asserted of group_hash in tests/plan/test_ladder.py.
  EXPECT_EQ(ckgen::group_hash(1, 1, 0), 0x223f6961U);
  EXPECT_EQ(ckgen::group_hash(7168, 2048, 0), 0xd7a0cbdcU);
  EXPECT_EQ(ckgen::group_hash(2048, 7168, 0), 0x0defa246U);
  EXPECT_EQ(ckgen::group_hash(8192, 8192, 16), 0xb26ce496U);
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
