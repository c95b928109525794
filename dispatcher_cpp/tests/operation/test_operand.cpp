// A matrix that a caller passes, at the largest sizes that 64-bit integers count.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "src/operation/operand.hpp"

namespace test_operand {

using namespace ckgen;
using detail::Operand;

// The most elements of 32 bits whose bits are counted.
constexpr std::int64_t kMost = (std::int64_t{1} << 58) - 1;

/// Of so many lines of 7 elements.
std::string said(std::int64_t lines, std::int64_t ld, std::int64_t batch, std::int64_t stride) {
  const char byte = 0;
  return detail::check(Operand{"A", DType::fp32, &byte, lines, 7, ld, stride, false}, batch).message;
}

TEST(Operand, TheLastLineOfTheLastBatchEntryIsTheLastThatIsCounted) {
  const std::string too_large = "A has more bits than 64-bit integers count";
  EXPECT_EQ(said(1, 7, 3, (kMost - 7) / 2), "");
  EXPECT_EQ(said(1, 7, 3, (kMost - 7) / 2 + 1), too_large);
  EXPECT_EQ(said(3, (kMost - 7) / 2, 1, 0), "");
  EXPECT_EQ(said(3, (kMost - 7) / 2 + 1, 1, 0), too_large);
  EXPECT_EQ(said(1, 7, 1, INT64_MAX), "") << "no second entry";
}

}  // namespace test_operand
