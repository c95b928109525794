// The hash and the ladder of ckgen/lookup.hpp against plain lists, as ckgen/describe_table.hpp lays them out.
#include <ckgen/describe_table.hpp>

#include <cstdint>

#include <gtest/gtest.h>

namespace test_lookup {

using namespace ckgen;
using namespace ckgen::describe;

TEST(Rungs, AnswerTheNextMeasuredSizeAtOrAbove) {
  constexpr Rung rungs[] = {rung(1, 0), rung(16, 64, 16, 1), rung(96, 0)};
  const std::uint64_t measured[] = {1, 16, 32, 48, 64, 96};
  for (std::uint64_t m = 1; m <= 96; ++m) {
    std::uint64_t expected = 0;
    for (const std::uint64_t known : measured) {
      if (known >= m) {
        expected = known;
        break;
      }
    }
    const std::uint32_t index = rung_at_or_above(rungs, 3, m);
    ASSERT_LT(index, 3U) << m;
    EXPECT_EQ(measured_at_or_above(rungs[index], m), expected) << m;
  }
  EXPECT_EQ(rung_at_or_above(rungs, 3, 97), 3U);
}

constexpr Rung dense[] = {rung(1, 0),           rung(16, 64, 16, 1),       rung(96, 0),  rung(100, 104, 4, 2),
                          rung(105, 106, 1, 2), rung(1024, 4096, 1024, 1), rung(5000, 0)};
constexpr Rung one_row[] = {rung(1, 0)};
constexpr Rung last_of_a_bucket[] = {rung(31, 0), rung(63, 0), rung(127, 0), rung(0xffffffffU, 0)};

template <const auto& rungs>
void expect_the_same_rung_as_searching_all() {
  constexpr Group group = ladder<rungs>(512, 1024);
  constexpr std::uint16_t count = sizeof(rungs) / sizeof(Rung);
  static_assert(group.rung_count == count && group.directory_size % 32 == 1);
  for (std::uint64_t m = 0; m < 9000; ++m)
    ASSERT_EQ(rung_at_or_above(group, m), rung_at_or_above(rungs, count, m)) << m;
  for (const std::uint64_t m : {std::uint64_t{0xfffffffeU}, std::uint64_t{0xffffffffU}, std::uint64_t{1} << 33})
    EXPECT_EQ(rung_at_or_above(group, m), rung_at_or_above(rungs, count, m)) << m;
  Group plain = group;
  plain.directory = nullptr;
  EXPECT_EQ(rung_at_or_above(plain, 97), rung_at_or_above(rungs, count, 97));
}

TEST(Directory, GivesTheSameRungAsSearchingTheWholeLadder) {
  expect_the_same_rung_as_searching_all<dense>();
  expect_the_same_rung_as_searching_all<one_row>();
  expect_the_same_rung_as_searching_all<last_of_a_bucket>();
  EXPECT_EQ(rung_at_or_above(group(512, 1024), 1), 0U) << "no rungs";
}

struct ManyGroups {
  Group at[500];
};
constexpr ManyGroups many_groups() {
  ManyGroups made{};
  for (std::uint32_t i = 0; i < 500; ++i) made.at[i] = group(i % 10 * 128, i / 50 * 512, i / 10 % 5);
  return made;
}
constexpr ManyGroups many = many_groups();
constexpr auto slots = slots_of(many.at);
constexpr LadderPolicy any = ladder_policy();

TEST(Slots, FindEveryGroupAndNoOther) {
  constexpr LookupTable table = lookup_table(Arch::gfx942, 304, any, many.at, slots);
  static_assert(table.slot_mask == 2047, "at most a quarter of them are taken");
  for (const Group& one : many.at) EXPECT_EQ(find_group(table, one.n, one.k, one.batch), &one);
  EXPECT_EQ(find_group(table, 1, 512, 0), nullptr);
  EXPECT_EQ(find_group(table, 128, 512, 5), nullptr);
  EXPECT_EQ(find_group(table, (std::uint64_t{1} << 32) + 128, 512, 0), nullptr);
}

TEST(Words, SayWhatTheyNameAndLeaveTheRest) {
  constexpr Rung said[] = {rung(16, 48, 16, 3, k_batch(8)), rung(64, 5)};
  EXPECT_EQ(said[0].first, 16U);
  EXPECT_EQ(said[0].last, 48U);
  EXPECT_EQ(said[0].step, 16U);
  EXPECT_EQ(said[0].choice.instance, 3U);
  EXPECT_EQ(said[0].choice.k_batch, 8U);
  EXPECT_EQ(said[1].last, 64U);
  EXPECT_EQ(said[1].step, 1U);
  EXPECT_EQ(said[1].choice.k_batch, 1U);
  constexpr RoundingBand plain = band(RoundingBand::To::m), limited = band(RoundingBand::To::value, 8).m_up_to(9);
  EXPECT_EQ(plain.m_up_to, 0xffffffffU);
  EXPECT_EQ(limited.of, 8U);
  EXPECT_EQ(limited.m_up_to, 9U);
}

}  // namespace test_lookup
