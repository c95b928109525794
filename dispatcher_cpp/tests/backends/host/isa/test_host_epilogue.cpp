// The epilogue's vector code, on every level, against its formulas: scales and bias, each op, rounding, at any length.
#include "backends/host/host_fixture.hpp"
#include "backends/host/host_isa_tables.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace host_test {
namespace test_host_epilogue {

constexpr std::int64_t kLengths[] = {1, 2, 7, 8, 9, 15, 16, 17, 63, 64, 65, 128, 130, 200};

std::vector<float> numbers(std::int64_t n, unsigned seed) {
  std::vector<float> values(static_cast<std::size_t>(n));
  for (float& v : values) {
    seed = seed * 1664525U + 1013904223U;
    v = static_cast<float>(static_cast<std::int32_t>(seed) >> 8) / 65536.0F;
  }
  return values;
}

TEST(HostEpilogue, ScalesThenBias) {
  for (const host::IsaTable* isa : isa_tables())
    for (const std::int64_t n : kLengths)
      for (const bool whole : {false, true})
        for (const bool per_column : {false, true})
          for (const bool with_bias : {false, true}) {
            const std::vector<float> acc = numbers(n, 1), scale = numbers(n, 2), bias = numbers(n, 3);
            std::vector<std::int32_t> sums;
            for (const float v : acc) sums.push_back(static_cast<std::int32_t>(v * 1000.0F));
            std::vector<float> out(static_cast<std::size_t>(n) + 8, -7.0F);
            isa->finish({whole ? static_cast<const void*>(sums.data()) : acc.data(), whole, n, 0.3F, 0.7F,
                         per_column ? scale.data() : nullptr, with_bias ? bias.data() : nullptr},
                        out.data());
            for (std::size_t j = 0; j < acc.size(); ++j) {
              float wanted = (whole ? static_cast<float>(sums[j]) : acc[j]) * 0.3F;
              wanted *= per_column ? scale[j] : 0.7F;
              if (with_bias) wanted += bias[j];
              ASSERT_EQ(out[j], wanted);
            }
            ASSERT_EQ(out[acc.size()], -7.0F) << "behind the row";
          }
}

host::FuseArgs fuse_of(std::int64_t n, EpilogueOp first, EpilogueOp second = EpilogueOp::none) {
  host::FuseArgs f{};
  f.c = DType::fp32, f.n = n, f.alpha = 0.6F;
  f.ops[0] = first, f.ops[1] = second;
  return f;
}

TEST(HostEpilogue, EachAddAndMulTakesTheNextTensor) {
  for (const host::IsaTable* isa : isa_tables())
    for (const DType type : {DType::fp32, DType::fp16, DType::bf16})
      for (const std::int64_t n : kLengths) {
        Bytes d[2];
        for (unsigned i = 0; i < 2; ++i) {
          d[i].resize(static_cast<std::size_t>(bytes_of(type, n)));
          const std::vector<float> values = numbers(n, 5 + i);
          for (std::int64_t j = 0; j < n; ++j) write(type, d[i].data(), j, values[static_cast<std::size_t>(j)]);
        }
        host::FuseArgs f = fuse_of(n, EpilogueOp::mul, EpilogueOp::add);
        f.ops[2] = EpilogueOp::scale;
        f.c = type, f.d[0] = d[0].data(), f.d[1] = d[1].data();
        const std::vector<float> in = numbers(n, 9);
        std::vector<float> out = in;
        out.push_back(-7.0F);
        isa->fuse(f, out.data());
        for (std::int64_t j = 0; j < n; ++j) {
          const float product = in[static_cast<std::size_t>(j)] * read(type, d[0].data(), j);
          ASSERT_EQ(out[static_cast<std::size_t>(j)], (product + read(type, d[1].data(), j)) * 0.6F);
        }
        ASSERT_EQ(out.back(), -7.0F);
      }
}

// The exponential is within 2^-22 of e^z for z within [-87, 88]; the quotient and its denominator are rounded once.
TEST(HostEpilogue, ActivationsAreWithinTheirBounds) {
  std::vector<float> in;
  for (int i = -90 * 64; i <= 90 * 64; ++i) in.push_back(static_cast<float>(i) / 64.0F);
  for (const host::IsaTable* isa : isa_tables()) {
    std::vector<float> silu = in, gelu = in, relu = in;
    const auto n = static_cast<std::int64_t>(in.size());
    isa->fuse(fuse_of(n, EpilogueOp::silu), silu.data());
    isa->fuse(fuse_of(n, EpilogueOp::gelu), gelu.data());
    isa->fuse(fuse_of(n, EpilogueOp::relu), relu.data());
    for (std::size_t i = 0; i < in.size(); ++i) {
      const double x = double{in[i]};
      ASSERT_EQ(relu[i], std::fmax(in[i], 0.0F)) << x;
      const double wanted = x / (1 + std::exp(std::fmin(std::fmax(-x, -87.0), 88.0)));
      ASSERT_NEAR(double{silu[i]}, wanted, std::fabs(wanted) * (0x1p-22 + 0x1p-23)) << x;
      // u is rounded: its error, some 2^-23 of it, is one of the exponent.
      const double u = 2 * std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x);
      const double of_gelu = x / (1 + std::exp(std::fmin(std::fmax(-u, -87.0), 88.0)));
      ASSERT_NEAR(double{gelu[i]}, of_gelu, std::fabs(of_gelu) * (0x1p-21 + std::fmin(std::fabs(u), 88.0) * 0x1p-22))
          << x;
    }
  }
}

TEST(HostEpilogue, ActivationsKeepNaNs) {
  for (const host::IsaTable* isa : isa_tables())
    for (const EpilogueOp op : {EpilogueOp::relu, EpilogueOp::silu, EpilogueOp::gelu}) {
      std::vector<float> x(20, std::numeric_limits<float>::quiet_NaN());
      isa->fuse(fuse_of(20, op), x.data());
      for (const float v : x) {
        EXPECT_TRUE(std::isnan(v)) << name(op);
      }
    }
}

/// Every bf16 value with its neighbours in fp32, and every halfway point of fp16 with its.
std::vector<float> edges() {
  std::vector<float> values;
  const auto add = [&values](std::uint32_t code) {
    float v = 0;
    std::memcpy(&v, &code, 4);
    values.push_back(v);
  };
  for (std::uint32_t high = 0; high < 0x10000; high += 3)
    for (const std::uint32_t low : {0U, 1U, 0x7fffU, 0x8000U, 0x8001U, 0x0fffU, 0x1000U, 0x1001U, 0x3000U})
      add(high << 16 | low);
  return values;
}

TEST(HostEpilogue, HalvesAreThoseOfTheCodecs) {
  const std::vector<float> values = edges();
  for (const host::IsaTable* isa : isa_tables())
    for (const DType type : {DType::fp16, DType::bf16}) {
      std::vector<std::uint16_t> codes(values.size());
      isa->encode(type, values.data(), codes.data(), static_cast<std::int64_t>(values.size()));
      std::vector<float> rounded = values;
      isa->round(type, rounded.data(), static_cast<std::int64_t>(values.size()));
      for (std::size_t i = 0; i < values.size(); ++i) {
        const float wanted = decode(type, encode(type, values[i])), found = decode(type, codes[i]);
        if (std::isnan(wanted)) {
          ASSERT_TRUE(std::isnan(found) && std::isnan(rounded[i])) << values[i];
          continue;
        }
        ASSERT_EQ(codes[i], encode(type, values[i])) << name(type) << " of " << values[i];
        ASSERT_EQ(rounded[i], wanted);
      }
    }
}

TEST(HostEpilogue, AnyLengthIsRoundedAndNoMore) {
  for (const host::IsaTable* isa : isa_tables())
    for (const DType type : {DType::fp32, DType::fp16, DType::bf16, DType::fp8_ocp})
      for (const std::int64_t n : kLengths) {
        const std::vector<float> values = numbers(n, 4);
        Bytes out(static_cast<std::size_t>(bytes_of(type, n)) + 8, 0x5a);
        isa->encode(type, values.data(), out.data(), n);
        std::vector<float> rounded = values;
        rounded.push_back(1.0F / 3);
        isa->round(type, rounded.data(), n);
        for (std::int64_t j = 0; j < n; ++j) {
          const float v = values[static_cast<std::size_t>(j)];
          const float wanted = type == DType::fp32 ? v : decode(type, encode(type, v, Overflow::saturating));
          ASSERT_EQ(read(type, out.data(), j), wanted) << name(type) << " " << j << " of " << n;
          if (bits(type) >= 16) {
            ASSERT_EQ(rounded[static_cast<std::size_t>(j)], wanted);
          }
        }
        ASSERT_EQ(out[out.size() - 8], 0x5a);
        ASSERT_EQ(rounded.back(), 1.0F / 3);
      }
}

TEST(HostEpilogue, LargestMagnitudeAndScalesOfPowersOfTwo) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  std::vector<unsigned char> codes(256);
  for (std::size_t i = 0; i < 256; ++i) codes[i] = static_cast<unsigned char>(i);
  for (const host::IsaTable* isa : isa_tables()) {
    float out[256];
    EXPECT_TRUE(std::isnan(isa->e8m0(codes.data(), 256, out)));
    EXPECT_TRUE(std::isnan(out[255]));
    for (int i = 0; i < 255; ++i) EXPECT_EQ(out[i], std::ldexp(1.0F, i - 127));
    EXPECT_EQ(isa->e8m0(codes.data(), 255, out), 0x1p127F);
    EXPECT_EQ(isa->e8m0(codes.data(), 1, out), 0x1p-127F);
    for (const float odd : {-3.0F, 2.5F, -infinity, nan})
      for (const std::size_t at : {0U, 5U, 18U}) {
        std::vector<float> values(19, 2.0F);
        values[at] = odd;
        const float most = isa->most(values.data(), 19);
        EXPECT_TRUE(std::isnan(odd) ? std::isnan(most) : most == std::fabs(odd));
        EXPECT_EQ(isa->most(values.data(), static_cast<std::int64_t>(at)), at == 0 ? 0.0F : 2.0F);
      }
  }
}

}  // namespace test_host_epilogue
}  // namespace host_test
