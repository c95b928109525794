// Rows of A as the kernels for few rows take them: whole chunks of 64, and nothing behind them.
#include "backends/host/gemm/pack_source.hpp"
#include "backends/host/host_isa_tables.hpp"
#include "ckgen/codecs.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace test_host_small_prepare {

using namespace ckgen;

constexpr std::int64_t kChunk = 64;
constexpr std::int64_t kLengths[] = {1, 63, 64, 65, 128, 447, 448, 511, 512, 513, 575, 576, 1024};
constexpr unsigned char kUntouched = 0xa5;

// What the kernel makes of the first k elements, with a chunk behind it.
std::vector<unsigned char> prepared(const host::SmallKernels& kernels, DType type, const void* row, std::int64_t k) {
  const host::PackKind kind = type == DType::int8 ? host::PackKind::i16 : host::PackKind::f32;
  const std::int64_t padded = (k + kChunk - 1) / kChunk * kChunk;
  std::vector<unsigned char> out(static_cast<std::size_t>((padded + kChunk) * kernels.element_bytes), kUntouched);
  const host::PackSource source = host::make_pack_source(kind, type, row, k, true, false);
  host::SmallExtremes seen{};
  kernels.prepare(source, 0, k, nullptr, &seen, out.data());
  return out;
}

void expect_untouched(const host::SmallKernels& kernels, const std::vector<unsigned char>& out) {
  const std::size_t chunk = static_cast<std::size_t>(kChunk * kernels.element_bytes);
  for (std::size_t i = out.size() - chunk; i < out.size(); ++i) ASSERT_EQ(out[i], kUntouched) << "behind the row";
}

TEST(SmallPrepare, IntegersKeepTheirPlacesAndAreZeroBeyondK) {
  std::vector<std::int8_t> row(1024);
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = static_cast<std::int8_t>(i * 37 + 1);
  for (const host::IsaTable* isa : host_test::isa_tables()) {
    const host::SmallKernels& kernels = *isa->small(DType::int8, DType::int8, true);
    for (const std::int64_t k : kLengths) {
      SCOPED_TRACE(testing::Message() << "K " << k << ", " << kernels.element_bytes << " bytes");
      const std::vector<unsigned char> out = prepared(kernels, DType::int8, row.data(), k);
      for (std::int64_t i = 0; i < (k + kChunk - 1) / kChunk * kChunk; ++i) {
        const int wanted = i < k ? row[static_cast<std::size_t>(i)] : 0;
        std::int16_t found = 0;
        if (kernels.element_bytes == 1)
          found = static_cast<std::int16_t>(out[static_cast<std::size_t>(i)] - 128);
        else
          std::memcpy(&found, out.data() + 2 * i, 2);
        ASSERT_EQ(found, wanted) << "element " << i;
      }
      ASSERT_NO_FATAL_FAILURE(expect_untouched(kernels, out));
    }
  }
}

TEST(SmallPrepare, FloatsFillWholeChunks) {
  const std::vector<std::uint16_t> row(1024, 0x3f80);  // ones of bf16
  for (const host::IsaTable* isa : host_test::isa_tables())
    for (const bool dots : {false, true}) {
      const host::SmallKernels& kernels = *isa->small(DType::bf16, DType::bf16, dots);
      for (const std::int64_t k : kLengths) {
        SCOPED_TRACE(testing::Message() << "K " << k << ", " << kernels.element_bytes << " bytes");
        const std::vector<unsigned char> out = prepared(kernels, DType::bf16, row.data(), k);
        std::int64_t ones = 0, zeros = 0;
        for (std::int64_t i = 0; i < (k + kChunk - 1) / kChunk * kChunk; ++i) {
          std::uint32_t bits = 0;
          std::memcpy(&bits, out.data() + i * kernels.element_bytes, static_cast<std::size_t>(kernels.element_bytes));
          ones += bits == (kernels.element_bytes == 2 ? 0x3f80U : 0x3f800000U);
          zeros += bits == 0;
        }
        EXPECT_EQ(ones, k);
        EXPECT_EQ(ones + zeros, (k + kChunk - 1) / kChunk * kChunk);
        ASSERT_NO_FATAL_FAILURE(expect_untouched(kernels, out));
      }
    }
}

}  // namespace test_host_small_prepare
