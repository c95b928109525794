// The public value types: dtypes, Status, codecs, the preshuffled layout.
#include "ckgen/codecs.hpp"
#include "ckgen/dtype.hpp"
#include "ckgen/gemm_types.hpp"
#include "ckgen/preshuffle.hpp"
#include "ckgen/status.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

namespace test_host_types {

using namespace ckgen;

TEST(DType, NamesAreUniqueAndParseBack) {
  std::set<std::string_view> seen;
  for (int i = 0; i < kDTypeCount; ++i) {
    const DType t = static_cast<DType>(i);
    EXPECT_TRUE(seen.insert(name(t)).second) << name(t);
    DType back = DType::none;
    ASSERT_TRUE(parse(name(t), back));
    EXPECT_EQ(back, t);
  }
  DType untouched = DType::int4;
  EXPECT_FALSE(parse("fp8 ", untouched));
  EXPECT_FALSE(parse("", untouched));
  EXPECT_EQ(untouched, DType::int4);
}

TEST(DType, Widths) {
  EXPECT_EQ(bits(DType::fp4), 4);
  EXPECT_EQ(bytes_of(DType::fp4, 5), 3);
  EXPECT_EQ(bytes_of(DType::bf16, 5), 10);
  EXPECT_EQ(bytes_of(DType::fp64, std::int64_t{1} << 40), std::int64_t{1} << 43);
  EXPECT_EQ(bits(DType::none), 0);
}

TEST(Status, FormatsAndTruncates) {
  EXPECT_TRUE(Status::success().ok());
  const Status s = Status::error(StatusCode::unsupported, "k=%d", 7);
  EXPECT_FALSE(s.ok());
  EXPECT_STREQ(s.message, "k=7");
  const std::string longer(1000, 'x');
  const Status cut = Status::error(StatusCode::internal, "%s", longer.c_str());
  EXPECT_EQ(std::string(cut.message).size(), sizeof cut.message - 1);
}

TEST(Codecs, KnownValues) {
  EXPECT_EQ(encode(DType::fp8_ocp, 449.0f), 0x7eu);  // rounds to 448
  EXPECT_EQ(encode(DType::fp8_ocp, 465.0f), 0x7fu);  // past the midpoint to 480: NaN
  EXPECT_EQ(encode(DType::fp8_ocp, 465.0f, Overflow::saturating), 0x7eu);
  EXPECT_EQ(encode(DType::fp8_fnuz, -0.0f), 0u);
  EXPECT_EQ(encode(DType::bf8_ocp, 1e9f), 0x7cu);
  EXPECT_EQ(decode(DType::e8m0, 127), 1.0f);
  EXPECT_TRUE(std::isnan(decode(DType::fp8_fnuz, 0x80)));
  EXPECT_EQ(max_finite(DType::fp8_fnuz), 240.0f);
}

TEST(Preshuffle, RoundTripAndRefusals) {
  constexpr std::int64_t n = 48, bytes = 96, stride = 101;
  std::vector<unsigned char> source(n * stride), shuffled(n * bytes), back(n * stride, 0);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<unsigned char>(i * 131 + i / 251);
  ASSERT_TRUE(preshuffle_b(source.data(), stride, shuffled.data(), n, bytes));
  ASSERT_TRUE(unpreshuffle_b(shuffled.data(), back.data(), stride, n, bytes));
  bool moved = false;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t k = 0; k < bytes; ++k) {
      EXPECT_EQ(source[static_cast<std::size_t>(i * stride + k)], back[static_cast<std::size_t>(i * stride + k)]);
      moved |= source[static_cast<std::size_t>(i * stride + k)] != shuffled[static_cast<std::size_t>(i * bytes + k)];
    }
  EXPECT_TRUE(moved);
  // Row 1, bytes 0..15 follow row 0's; the second half of the 32-byte block comes 256 bytes later.
  EXPECT_EQ(preshuffled_chunk(1, 0, bytes), 16);
  EXPECT_EQ(preshuffled_chunk(0, 16, bytes), 256);
  EXPECT_EQ(preshuffled_chunk(16, 0, bytes), 16 * bytes);
  EXPECT_FALSE(preshuffle_b(source.data(), stride, shuffled.data(), n - 1, bytes));
  EXPECT_FALSE(preshuffle_b(source.data(), stride, shuffled.data(), n, bytes - 16));
  EXPECT_FALSE(preshuffle_b(source.data(), bytes - 1, shuffled.data(), n, bytes));
}

}  // namespace test_host_types
