// Preshuffled B and mx scales against the arrays that ckgen/preshuffle.hpp describes; the same of B over plain C.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <ckgen/c_api.h>
#include <ckgen/preshuffle.hpp>

namespace test_preshuffle {

using namespace ckgen;

using Bytes = std::vector<unsigned char>;

Bytes counted(std::int64_t bytes) {
  Bytes out(static_cast<std::size_t>(bytes));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<unsigned char>(i * 7 + i / 256 + 1);
  return out;
}

unsigned char at(const Bytes& bytes, std::int64_t i) {
  return bytes[static_cast<std::size_t>(i)];
}

/// Where [N/16][row_bytes/32][2][16][16] has a byte of a row.
std::int64_t place_of_b(std::int64_t n, std::int64_t byte, std::int64_t row_bytes) {
  const std::int64_t block = n / 16 * (row_bytes / 32) + byte / 32;
  return ((block * 2 + byte % 32 / 16) * 16 + n % 16) * 16 + byte % 16;
}

/// Where [R/32][G/8][4][16][2][2] has the scale of a group of a row.
std::int64_t place_of_scale(std::int64_t row, std::int64_t group, std::int64_t groups) {
  const std::int64_t block = row / 32 * ((groups + 7) / 8) + group / 8;
  return (((block * 4 + group % 4) * 16 + row % 16) * 2 + group % 8 / 4) * 2 + row % 32 / 16;
}

TEST(Preshuffle, EveryByteOfBLiesWhereTheHeaderSays) {
  constexpr std::int64_t n = 48, row_bytes = 96, stride = 100;
  const Bytes rows = counted(n * stride);
  Bytes shuffled(n * row_bytes), back(n * stride, 0xee);
  ASSERT_TRUE(preshuffle_b(rows.data(), stride, shuffled.data(), n, row_bytes));
  ASSERT_TRUE(unpreshuffle_b(shuffled.data(), back.data(), stride, n, row_bytes));
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t k = 0; k < stride; ++k) {
      if (k < row_bytes) {
        ASSERT_EQ(at(shuffled, place_of_b(i, k, row_bytes)), at(rows, i * stride + k)) << i << ' ' << k;
      }
      ASSERT_EQ(at(back, i * stride + k), k < row_bytes ? at(rows, i * stride + k) : 0xee) << i << ' ' << k;
    }
}

TEST(Preshuffle, EveryScaleLiesWhereTheHeaderSays) {
  for (const std::int64_t rows : {1, 31, 32, 33, 70})
    for (const std::int64_t groups : {1, 7, 8, 9, 20}) {
      const std::int64_t stride = groups + 3, bytes = (rows + 31) / 32 * 32 * ((groups + 7) / 8 * 8);
      ASSERT_EQ(shuffled_mx_scale_bytes(rows, groups), bytes);
      const Bytes scales = counted(rows * stride);
      Bytes wanted(static_cast<std::size_t>(bytes), 0), shuffled(static_cast<std::size_t>(bytes), 0xee);
      Bytes back(scales.size(), 0xee);
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t g = 0; g < groups; ++g)
          wanted[static_cast<std::size_t>(place_of_scale(i, g, groups))] = at(scales, i * stride + g);
      ASSERT_TRUE(shuffle_mx_scale(scales.data(), stride, shuffled.data(), rows, groups));
      EXPECT_EQ(shuffled, wanted) << rows << " x " << groups;
      ASSERT_TRUE(unshuffle_mx_scale(shuffled.data(), back.data(), stride, rows, groups));
      for (std::int64_t i = 0; i < rows * stride; ++i)
        ASSERT_EQ(at(back, i), i % stride < groups ? at(scales, i) : 0xee) << rows << " x " << groups;
    }
}

TEST(Preshuffle, SizesThatHaveNoSuchOrderAreRefusedAndNothingIsWritten) {
  EXPECT_TRUE(can_preshuffle(0, 0) && can_preshuffle(16, 32) && can_preshuffle(32, 96));
  EXPECT_FALSE(can_preshuffle(-16, 32) || can_preshuffle(16, -32) || can_preshuffle(8, 32) || can_preshuffle(16, 16));
  Bytes from(64 * 64, 1), to(64 * 64, 0xee);
  EXPECT_FALSE(preshuffle_b(from.data(), 64, to.data(), 8, 32));
  EXPECT_FALSE(preshuffle_b(from.data(), 31, to.data(), 16, 32));
  EXPECT_FALSE(unpreshuffle_b(from.data(), to.data(), 64, 16, 16));
  EXPECT_FALSE(unpreshuffle_b(from.data(), to.data(), 31, 16, 32));
  EXPECT_TRUE(preshuffle_b(from.data(), 32, to.data(), 0, 32) && unpreshuffle_b(from.data(), to.data(), 32, 0, 32));
  constexpr std::int64_t limit = std::int64_t{1} << 31;
  EXPECT_TRUE(can_shuffle_mx_scale(0, 0) && can_shuffle_mx_scale(limit - 1, limit - 1));
  EXPECT_FALSE(can_shuffle_mx_scale(-1, 1) || can_shuffle_mx_scale(1, -1));
  EXPECT_FALSE(can_shuffle_mx_scale(limit, 1) || can_shuffle_mx_scale(1, limit));
  EXPECT_FALSE(shuffle_mx_scale(from.data(), 3, to.data(), 4, 4) || shuffle_mx_scale(from.data(), 4, to.data(), -1, 4));
  EXPECT_FALSE(unshuffle_mx_scale(from.data(), to.data(), 3, 4, 4));
  EXPECT_FALSE(unshuffle_mx_scale(from.data(), to.data(), 4, -1, 4));
  EXPECT_TRUE(shuffle_mx_scale(from.data(), 4, to.data(), 0, 4) && shuffle_mx_scale(from.data(), 4, to.data(), 4, 0));
  constexpr std::int64_t most = std::int64_t{1} << 62;  // of empty rows, which take no time
  EXPECT_TRUE(preshuffle_b(from.data(), 0, to.data(), most, 0) && unpreshuffle_b(from.data(), to.data(), 0, most, 0));
  EXPECT_EQ(to, Bytes(to.size(), 0xee));
}

TEST(CApiPreshuffle, IsThatOfCpp) {
  char text[256] = {};
  const ckgen_message message{text, sizeof text};
  const std::int32_t layout = ckgen_preshuffle_layout();
  EXPECT_EQ(layout, 1);
  constexpr std::int64_t n = 32, row_bytes = 64, stride = 70;
  const Bytes rows = counted(n * stride);
  Bytes own(n * row_bytes), shuffled(n * row_bytes), back(n * stride);
  ASSERT_TRUE(preshuffle_b(rows.data(), stride, own.data(), n, row_bytes));
  ASSERT_EQ(ckgen_preshuffle_b(rows.data(), stride, shuffled.data(), n, row_bytes, layout, message), CKGEN_OK) << text;
  EXPECT_EQ(shuffled, own);
  ASSERT_EQ(ckgen_unpreshuffle_b(shuffled.data(), back.data(), stride, n, row_bytes, layout, message), CKGEN_OK);
  for (std::int64_t i = 0; i < n * stride; ++i) ASSERT_EQ(at(back, i), i % stride < row_bytes ? at(rows, i) : 0);
}

TEST(CApiPreshuffle, WhatIsNoLegalCallIsRefused) {
  char text[256] = {};
  const ckgen_message message{text, sizeof text};
  Bytes rows(16 * 32, 1), other(16 * 32, 0xee);
  const auto refusal = [&](const void* from, void* to, std::int64_t stride, std::int64_t n, std::int64_t row_bytes,
                           std::int32_t layout) {
    const ckgen_status shuffled = ckgen_preshuffle_b(from, stride, to, n, row_bytes, layout, message);
    EXPECT_EQ(shuffled, ckgen_unpreshuffle_b(from, to, stride, n, row_bytes, layout, message));
    EXPECT_EQ(shuffled, CKGEN_INVALID_ARGUMENT);
    return std::string(text);
  };
  EXPECT_EQ(refusal(nullptr, other.data(), 32, 16, 32, 1), "a required argument is null");
  EXPECT_EQ(refusal(rows.data(), nullptr, 32, 16, 32, 1), "a required argument is null");
  EXPECT_EQ(refusal(rows.data(), other.data(), 32, 16, 32, 2), "this library shuffles B in layout 1 only");
  EXPECT_EQ(refusal(rows.data(), other.data(), 32, 8, 32, 1),
            "n must be a multiple of 16 and row_bytes one of 32, none of them negative");
  EXPECT_EQ(refusal(rows.data(), other.data(), 31, 16, 32, 1), "the stride is less than row_bytes");
  EXPECT_EQ(other, Bytes(other.size(), 0xee));
}

}  // namespace test_preshuffle
