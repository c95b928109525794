// What the kernels' rounding to 4- and 8-bit types leaves, on every ISA, against ckgen/codecs.hpp.
#include "backends/host/host_isa_tables.hpp"
#include "ckgen/codecs.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

namespace test_host_narrow {

using namespace ckgen;

/// Every bf16 value with its neighbours in fp32, and random others.
std::vector<float> all_values() {
  std::vector<float> values;
  std::uint32_t state = 1;
  for (std::uint32_t high = 0; high < 0x10000; ++high)
    for (const std::uint32_t low : {0U, 1U, 0x8000U, 0x7fffU, 0x8001U, state = state * 1664525U + 1013904223U}) {
      const std::uint32_t bits = high << 16 | (low & 0xffffU);
      float value = 0;
      std::memcpy(&value, &bits, 4);
      values.push_back(value);
    }
  return values;
}

TEST(HostNarrow, FloatsAreThoseOfTheCodecs) {
  const std::vector<float> values = all_values();
  for (const host::IsaTable* table : host_test::isa_tables())
    for (const DType t : {DType::fp8_fnuz, DType::fp8_ocp, DType::bf8_fnuz, DType::bf8_ocp, DType::fp4}) {
      std::vector<unsigned char> codes(values.size());
      table->encode(t, values.data(), codes.data(), static_cast<std::int64_t>(values.size()));
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (t == DType::fp4 && std::isnan(values[i])) continue;  // the type has no code for it
        const std::uint32_t found = t == DType::fp4 ? nibble(codes[i / 2], static_cast<int>(i % 2)) : codes[i];
        ASSERT_EQ(found, encode(t, values[i], Overflow::saturating)) << name(t) << " of " << values[i];
      }
    }
}

TEST(HostNarrow, Int8IsTheNearestEven) {
  std::vector<float> values;
  for (int i = -600; i <= 600; ++i)
    for (const float part : {0.0F, 0.25F, -0x1p-20F}) values.push_back(static_cast<float>(i) / 4.0F + part);
  for (const host::IsaTable* table : host_test::isa_tables()) {
    std::vector<signed char> codes(values.size());
    table->encode(DType::int8, values.data(), codes.data(), static_cast<std::int64_t>(values.size()));
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(static_cast<float>(codes[i]), std::fmin(127.0F, std::fmax(-127.0F, std::nearbyint(values[i]))))
          << values[i];
  }
}

}  // namespace test_host_narrow
