// The table of groups that CUTLASS's kernels read.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include <backends/cutlass/groups.hpp>

namespace ckgen::cutlass_gemm {
namespace test_cutlass_groups {

constexpr std::int64_t kCount = 3;

const void* address(std::uint64_t value) {
  return reinterpret_cast<const void*>(value);
}

struct Table {
  GroupOperands operands[kCount] = {};
  GroupSize sizes[kCount] = {{5, 16, 64}, {0, 24, 72}, {-1, 8, 128}};
  GroupTable of_kernel;
  std::vector<std::uint32_t> words;

  explicit Table(GroupTable of) : of_kernel(of) {
    for (std::uint64_t i = 0; i < kCount; ++i) {
      GroupOperands& one = operands[i];
      const std::uint64_t high = (i + 1) << 40;  // in the upper word of an address
      one.a = address(high + 0x10);
      one.b = address(high + 0x20);
      one.c = const_cast<void*>(address(high + 0x30));
      one.a_scale = address(high + 0x40);
      one.b_scale = address(high + 0x50);
      one.bias = address(high + 0x60);
      for (std::uint64_t d = 0; d < kMaxD; ++d) {
        one.d[d] = address(high + 0x70 + 0x10 * d);
        one.ldd[d] = static_cast<std::int64_t>(400 + 100 * d + i);
      }
      one.lda = static_cast<std::int64_t>(100 + i);
      one.ldb = (std::int64_t{1} << 33) + static_cast<std::int64_t>(i);
      one.ldc = static_cast<std::int64_t>(300 + i);
    }
    for (std::int64_t at = 0; at < group_table_words(kCount, of); ++at)
      words.push_back(group_word(operands, sizes, kCount, of, at));
  }
  std::uint64_t entry(GroupArray array, std::int64_t group) const {
    std::uint64_t value = 0;
    const std::size_t at = group_array_offset(array, kCount) + static_cast<std::size_t>(group) * sizeof value;
    std::memcpy(&value, reinterpret_cast<const unsigned char*>(words.data()) + at, sizeof value);
    return value;
  }
  std::vector<std::uint32_t> size(std::int64_t group) const {
    const std::size_t at =
        group_sizes_offset(kCount, of_kernel) / sizeof(std::uint32_t) + 3 * static_cast<std::size_t>(group);
    return {words.begin() + static_cast<std::ptrdiff_t>(at), words.begin() + static_cast<std::ptrdiff_t>(at + 3)};
  }
};

TEST(CutlassGroups, EachArrayHasAnEntryOfEachGroup) {
  const Table table({false, false, 0}), with_bias({false, true, 0});
  for (std::int64_t group = 0; group < kCount; ++group) {
    const std::uint64_t high = static_cast<std::uint64_t>(group + 1) << 40;
    EXPECT_EQ(table.entry(GroupArray::a, group), high + 0x10);
    EXPECT_EQ(table.entry(GroupArray::b, group), high + 0x20);
    EXPECT_EQ(table.entry(GroupArray::c, group), high + 0x30);
    EXPECT_EQ(table.entry(GroupArray::a_scale, group), high + 0x40);
    EXPECT_EQ(table.entry(GroupArray::b_scale, group), high + 0x50);
    EXPECT_EQ(table.entry(GroupArray::lda, group), 100U + static_cast<std::uint64_t>(group));
    EXPECT_EQ(table.entry(GroupArray::ldb, group), (std::uint64_t{1} << 33) + static_cast<std::uint64_t>(group));
    EXPECT_EQ(table.entry(GroupArray::ldc, group), 300U + static_cast<std::uint64_t>(group));
    EXPECT_EQ(with_bias.entry(GroupArray::ldc, group), 300U + static_cast<std::uint64_t>(group));
    EXPECT_EQ(with_bias.entry(GroupArray::bias, group), high + 0x60);
  }
}

TEST(CutlassGroups, TensorsOfEpiloguesStandBehindTheBiasOrItsPlace) {
  for (const bool has_bias : {false, true}) {
    const Table one({false, has_bias, 1}), two({true, has_bias, 2});
    for (std::int64_t group = 0; group < kCount; ++group) {
      const std::uint64_t high = static_cast<std::uint64_t>(group + 1) << 40, at = static_cast<std::uint64_t>(group);
      for (const Table* table : {&one, &two}) {
        EXPECT_EQ(table->entry(GroupArray::bias, group), high + 0x60);
        EXPECT_EQ(table->entry(GroupArray::d0, group), high + 0x70);
        EXPECT_EQ(table->entry(GroupArray::ldd0, group), 400 + at);
      }
      EXPECT_EQ(two.entry(GroupArray::d1, group), high + 0x80);
      EXPECT_EQ(two.entry(GroupArray::ldd1, group), 500 + at);
    }
    EXPECT_EQ(one.size(0), (std::vector<std::uint32_t>{5, 16, 64}));
    EXPECT_EQ(two.size(0), (std::vector<std::uint32_t>{16, 5, 64}));
    EXPECT_EQ(two.words.size(), one.words.size() + 4 * kCount);
  }
}

TEST(CutlassGroups, SizesStandBehindTheArraysWithRowsAndColumnsAsTheKernelHasThem) {
  const Table plain({false, false, 0}), swapped({true, false, 0}), with_bias({true, true, 0});
  EXPECT_EQ(plain.size(0), (std::vector<std::uint32_t>{5, 16, 64}));
  EXPECT_EQ(swapped.size(0), (std::vector<std::uint32_t>{16, 5, 64}));
  EXPECT_EQ(with_bias.size(0), (std::vector<std::uint32_t>{16, 5, 64}));
  EXPECT_EQ(with_bias.words.size(), plain.words.size() + 2 * kCount);
  EXPECT_EQ(plain.size(1), (std::vector<std::uint32_t>{0, 24, 72}));
  EXPECT_EQ(plain.size(2), (std::vector<std::uint32_t>{0, 8, 128}));  // a negative size is none
}

}  // namespace test_cutlass_groups
}  // namespace ckgen::cutlass_gemm
