// H of a MoE layer in A's type: every scheme of scales of backends/host/moe/quantize.hpp, by loops over its formulas.
#include "backends/host/host_fixture.hpp"
#include "backends/host/host_isa_tables.hpp"
#include "backends/host/moe/quantize.hpp"
#include "ckgen/preshuffle.hpp"

#include <cmath>
#include <limits>

namespace host_test {
namespace test_host_moe_quantize {

float largest_of(DType type) {
  return type == DType::int8 ? 127.0F : max_finite(type);
}

/// Rows of H of any magnitude, of zeros alone in row 1 and in a group of row 2, and with a NaN in row 3.
std::vector<float> rows_of(std::int64_t rows, std::int64_t columns) {
  std::vector<float> h(static_cast<std::size_t>(rows * columns));
  std::uint32_t state = 3;
  for (std::size_t i = 0; i < h.size(); ++i) {
    state = state * 1664525U + 1013904223U;
    const float size = std::ldexp(1.0F, static_cast<int>(i / 40 % 23) - 11);
    h[i] = (static_cast<float>(state >> 8) / 0x1p23F - 1.0F) * size;
  }
  const auto row = [&](std::int64_t r) { return h.begin() + static_cast<std::ptrdiff_t>(r * columns); };
  std::fill(row(1), row(2), 0.0F);
  std::fill(row(2), row(2) + 32, 0.0F);
  row(3)[5] = std::numeric_limits<float>::quiet_NaN();
  row(4)[0] = -0x1p100F, row(4)[1] = 0x1p-140F, row(4)[40] = 0x1p-140F;
  return h;
}

/// Index of the scale of an element, and of which elements it is: one row of `group` columns, or all.
struct Scales {
  std::int64_t group, groups;
  bool of_all;
};

Scales scales_of(const GemmTraits& t, std::int64_t columns) {
  const std::int64_t group = t.quant == Quant::mx ? 32 : t.quant == Quant::blockscale ? t.scale_block.k : columns;
  return {group, (columns + group - 1) / group, t.quant == Quant::per_tensor};
}

float scale_for(const GemmTraits& t, float most) {
  if (t.quant != Quant::mx) return most == 0 ? 1.0F : most / largest_of(t.a);
  if (most == 0) return 0x1p-127F;
  const int exponent = std::ilogb(most) - std::ilogb(largest_of(t.a));
  return std::ldexp(1.0F, std::min(std::max(exponent, -127), 127));
}

void expect_quantised(const host::IsaTable& isa, const GemmTraits& t, std::int64_t columns, bool shuffled,
                      int threads) {
  const std::int64_t rows = 7;
  std::vector<float> h = rows_of(rows, columns);
  if (t.quant == Quant::mx) h[static_cast<std::size_t>(5 * columns + 7)] = std::numeric_limits<float>::infinity();
  Bytes values(static_cast<std::size_t>(bytes_of(t.c, rows * columns)));
  for (std::size_t i = 0; i < h.size(); ++i) write(t.c, values.data(), static_cast<std::int64_t>(i), h[i]);
  const auto h_at = [&](std::int64_t r, std::int64_t k) { return read(t.c, values.data(), r * columns + k); };
  Bytes codes(static_cast<std::size_t>(bytes_of(t.a, rows * columns)));
  std::vector<float> scales(host::scale_bytes(t, rows, columns) / 4 + 1, -7.0F);
  const std::size_t slot = host::quantize_slot_bytes(columns);
  Bytes slots(slot * static_cast<std::size_t>(threads) + 4);
  std::vector<float> largest(static_cast<std::size_t>(rows));
  host::quantize({&isa, &t, rows, columns, values.data(), codes.data(), scales.data(), shuffled, threads}, slots.data(),
                 largest.data());
  EXPECT_EQ(scales.back(), -7.0F);

  const Scales x = scales_of(t, columns);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t g = 0; g < x.groups; ++g) {
      float most = 0;
      for (std::int64_t i = x.of_all ? 0 : r; i < (x.of_all ? rows : r + 1); ++i)
        for (std::int64_t k = g * x.group; k < std::min((g + 1) * x.group, columns); ++k)
          most = std::fmax(most, std::fabs(h_at(i, k)));
      const float scale = scale_for(t, most);
      const std::int64_t place = x.of_all ? 0 : r * x.groups + g;
      if (t.quant == Quant::mx) {
        const std::int64_t at = shuffled ? shuffled_mx_scale(r, g, x.groups) : place;
        ASSERT_EQ(decode(DType::e8m0, reinterpret_cast<const unsigned char*>(scales.data())[at]), scale)
            << r << " " << g;
      } else {
        ASSERT_EQ(scales[static_cast<std::size_t>(place)], scale) << r << " " << g;
      }
      for (std::int64_t k = g * x.group; k < std::min((g + 1) * x.group, columns); ++k) {
        const float quotient = h_at(r, k) / scale, found = read(t.a, codes.data(), r * columns + k);
        if (std::isnan(quotient)) {
          if (t.a != DType::int8 && t.a != DType::fp4) {
            ASSERT_TRUE(std::isnan(found));
          }
        } else if (t.a == DType::int8) {
          ASSERT_EQ(found, std::nearbyint(std::fmin(127.0F, std::fmax(-127.0F, quotient))));
        } else {
          ASSERT_EQ(found, decode(t.a, encode(t.a, quotient, Overflow::saturating))) << r << " " << k;
        }
      }
    }
}

TEST(HostMoeQuantize, EverySchemeIsTheDefinition) {
  const host::IsaTable* const isa = isa_tables().back();
  for (const DType c : {DType::fp32, DType::bf16})
    for (const DType a : {DType::fp8_ocp, DType::fp8_fnuz, DType::bf8_ocp, DType::int8, DType::fp4})
      for (const Quant quant : {Quant::per_tensor, Quant::rowwise, Quant::blockscale, Quant::mx})
        for (const bool shuffled : {false, true}) {
          if ((shuffled || a == DType::fp4) != (quant == Quant::mx) &&
              !(quant == Quant::mx && !shuffled && a != DType::int8))
            continue;
          if (quant == Quant::mx && a == DType::int8) continue;
          SCOPED_TRACE(testing::Message() << name(c) << " to " << name(a) << " " << name(quant) << shuffled);
          GemmTraits t{a, a, c, a == DType::int8 ? DType::int32 : DType::fp32, Layout::rcr, quant, false, false};
          expect_quantised(*isa, t, 256, shuffled, 1);
          expect_quantised(*isa, t, 194, shuffled, 2);
          t.scale_block.k = 64;
          if (quant == Quant::blockscale) expect_quantised(*isa, t, 194, shuffled, 1);
        }
}

TEST(HostMoeQuantize, ARowWithoutColumnsHasTheScaleOfZeros) {
  const GemmTraits t{DType::fp8_ocp, DType::fp8_ocp, DType::bf16, DType::fp32,
                     Layout::rcr,    Quant::rowwise, false,       false};
  float scales[] = {-7.0F, -7.0F, -7.0F};
  unsigned char none[4] = {};
  host::quantize({isa_tables().front(), &t, 2, 0, none, none, scales, false, 1}, none, nullptr);
  EXPECT_EQ(scales[0], 1.0F);
  EXPECT_EQ(scales[1], 1.0F);
  EXPECT_EQ(scales[2], -7.0F);
}

TEST(HostMoeQuantize, WithoutScalesElementsAreRounded) {
  GemmTraits t{DType::fp8_ocp, DType::fp8_ocp, DType::bf16, DType::fp32, Layout::rcr, Quant::none, false, false};
  const float values[] = {1.0F, 1.0625F, 500.0F, -0.3F};
  Bytes h(8), codes(4), slots(16);
  for (std::int64_t i = 0; i < 4; ++i) write(DType::bf16, h.data(), i, values[i]);
  host::quantize({isa_tables().front(), &t, 2, 2, h.data(), codes.data(), nullptr, false, 1}, slots.data(), nullptr);
  for (std::int64_t i = 0; i < 4; ++i)
    EXPECT_EQ(codes[static_cast<std::size_t>(i)],
              encode(DType::fp8_ocp, read(DType::bf16, h.data(), i), Overflow::saturating));
}

}  // namespace test_host_moe_quantize
}  // namespace host_test
