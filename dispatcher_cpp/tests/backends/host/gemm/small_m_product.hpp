// Operands of a product with few rows of A, and the definition in ckgen/gemm_types.hpp in double. Operands and
// workspace are heap blocks of exactly their size, so that AddressSanitizer sees one byte too many.
#pragma once

#include "backends/host/gemm/blocking.hpp"
#include "backends/host/gemm/gemm.hpp"
#include "backends/host/gemm/small_m.hpp"
#include "backends/host/host_fixture.hpp"
#include "ckgen/codecs.hpp"
#include "ckgen/preshuffle.hpp"
#include "ckgen/scales.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace test_host_small_m {

using namespace ckgen;

inline std::uint32_t code_at(DType t, const std::vector<unsigned char>& bytes, std::int64_t i) {
  if (bits(t) == 4) return nibble(bytes[static_cast<std::size_t>(i / 2)], static_cast<int>(i % 2));
  std::uint32_t code = 0;
  const std::size_t size = static_cast<std::size_t>(bits(t)) / 8;
  std::memcpy(&code, bytes.data() + static_cast<std::size_t>(i) * size, size);
  return code;
}

inline void put_code(DType t, std::vector<unsigned char>& bytes, std::int64_t i, std::uint32_t code) {
  if (bits(t) == 4) {
    unsigned char& byte = bytes[static_cast<std::size_t>(i / 2)];
    const std::uint32_t other = nibble(byte, static_cast<int>(1 - i % 2));
    byte = i % 2 == 0 ? pack_nibbles(code, other) : pack_nibbles(other, code);
    return;
  }
  const std::size_t size = static_cast<std::size_t>(bits(t)) / 8;
  std::memcpy(bytes.data() + static_cast<std::size_t>(i) * size, &code, size);
}

inline float value_of(DType t, std::uint32_t code) {
  if (t == DType::int8) return static_cast<float>(static_cast<std::int8_t>(code));
  if (t == DType::int4) return static_cast<float>(decode_int4(code));
  if (t == DType::fp32) return codec_detail::from_bits(code);
  return decode(t, code);
}

inline std::uint32_t random_code(DType t, std::mt19937& random) {
  if (t == DType::int8 || t == DType::int4)
    return static_cast<std::uint32_t>(random()) & (t == DType::int4 ? 0xfU : 0xffU);
  const float v = std::normal_distribution<float>()(random);
  return t == DType::fp32 ? codec_detail::to_bits(v) : encode(t, v);
}

struct Shape {
  std::int64_t m, n, k, batch = 1;
};

// One product: operands in memory, filled with codes; C is fp32, or int32 for plain int8.
class Product {
 public:
  Product(GemmTraits t, Shape s, std::int64_t padding = 0) : traits(t), shape(s) {
    const auto even = [](DType type, std::int64_t n) { return bits(type) == 4 ? (n + 1) / 2 * 2 : n; };
    lda = even(t.a, s.k) + 2 * padding;
    ldb = even(t.b, s.k) + 2 * padding;
    ldc = s.n + padding;
    groups = t.quant == Quant::mx           ? (s.k + 31) / 32
             : t.quant == Quant::blockscale ? (s.k + block_k() - 1) / block_k()
                                            : 1;
    // The last row ends with its last element.
    a.resize(static_cast<std::size_t>(bytes_of(t.a, (s.batch * s.m - 1) * lda + s.k)));
    b.resize(static_cast<std::size_t>(bytes_of(t.b, (s.batch * s.n - 1) * ldb + s.k)));
    c.assign(static_cast<std::size_t>(s.batch * s.m * ldc), -7.0F);
    a_scale.assign(static_cast<std::size_t>(s.batch * s.m * groups), 1.0F);
    b_scale.assign(static_cast<std::size_t>(s.batch * b_blocks() * groups), 1.0F);
    bias.assign(static_cast<std::size_t>(s.n), 0.0F);
  }

  std::int64_t block_k() const { return traits.scale_block.k; }
  std::int64_t b_blocks() const {
    return traits.quant == Quant::blockscale ? (shape.n + traits.scale_block.n - 1) / traits.scale_block.n : shape.n;
  }

  void fill(unsigned seed) {
    std::mt19937 random(seed);
    for (std::int64_t r = 0; r < shape.batch * shape.m; ++r)
      for (std::int64_t k = 0; k < shape.k; ++k) put_code(traits.a, a, r * lda + k, random_code(traits.a, random));
    for (std::int64_t r = 0; r < shape.batch * shape.n; ++r)
      for (std::int64_t k = 0; k < shape.k; ++k) put_code(traits.b, b, r * ldb + k, random_code(traits.b, random));
    const auto scale = [&] {
      const int e = static_cast<int>(random() % 9) - 4;
      return traits.quant == Quant::mx ? std::ldexp(1.0F, e)
                                       : std::ldexp(1.0F + static_cast<float>(random() % 8) / 8, e);
    };
    for (float& v : a_scale) v = scale();
    for (float& v : b_scale) v = scale();
    for (float& v : bias) v = static_cast<float>(random() % 16) - 8;
  }

  GemmArgs args() {
    GemmArgs p{};
    p.a = a.data();
    p.b = b.data();
    p.c = c.data();
    p.a_scale_row_major = a_scale_row_major;
    p.mx_scale_shuffled = mx_scale_shuffled;
    store_scales();
    p.a_scale = traits.quant == Quant::mx ? static_cast<const void*>(a_codes.data()) : a_stored.data();
    p.b_scale = traits.quant == Quant::mx ? static_cast<const void*>(b_codes.data()) : b_scale.data();
    p.bias = traits.bias ? bias.data() : nullptr;
    p.m = shape.m;
    p.n = shape.n;
    p.k = shape.k;
    p.batch = shape.batch;
    p.lda = lda;
    p.ldb = ldb;
    p.ldc = ldc;
    p.batch_stride_a = shape.m * lda;
    p.batch_stride_b = shape.n * ldb;
    p.batch_stride_c = shape.m * ldc;
    return p;
  }

  // Lines of K values, each a code of the type, from lines of so many codes.
  std::vector<double> values(DType t, const std::vector<unsigned char>& codes, std::int64_t lines,
                             std::int64_t ld) const {
    std::vector<double> all(static_cast<std::size_t>(lines * shape.k));
    auto next = all.begin();
    for (std::int64_t line = 0; line < lines; ++line)
      for (std::int64_t k = 0; k < shape.k; ++k) *next++ = double{value_of(t, code_at(t, codes, line * ld + k))};
    return all;
  }

  // The definition's sum for row r and column j of a batch, and the sum of magnitudes, of these values.
  HOST_TEST_ONE_THREAD std::pair<double, double> expected(const std::vector<double>& rows,
                                                          const std::vector<double>& columns, std::int64_t batch,
                                                          std::int64_t r, std::int64_t j) const {
    const std::int64_t row = batch * shape.m + r, column = batch * shape.n + j;
    const std::int64_t group = traits.quant == Quant::mx ? 32 : traits.quant == Quant::blockscale ? block_k() : shape.k;
    const std::int64_t of_b = traits.quant == Quant::blockscale ? j / traits.scale_block.n : j;
    const double *of_row = rows.data() + row * shape.k, *of_column = columns.data() + column * shape.k;
    double total = 0, size = 0;
    for (std::int64_t g = 0; g * group < shape.k; ++g) {
      double part = 0, part_size = 0;
      for (std::int64_t k = g * group; k < std::min((g + 1) * group, shape.k); ++k) {
        const double x = of_row[k] * of_column[k];
        part += x;
        part_size += std::fabs(x);
      }
      double scale = 1;
      if (traits.quant != Quant::none)
        scale = double{a_scale[static_cast<std::size_t>(row * groups + g)]} *
                double{b_scale[static_cast<std::size_t>((batch * b_blocks() + of_b) * groups + g)]};
      total += part * scale;
      size += part_size * std::fabs(scale);
    }
    if (traits.bias) total += double{bias[static_cast<std::size_t>(j)]};
    return {total, size + std::fabs(total)};
  }

  void check(const std::string& what) const {
    const std::vector<double> rows = values(traits.a, a, shape.batch * shape.m, lda),
                              columns = values(traits.b, b, shape.batch * shape.n, ldb);
    for (std::int64_t i = 0; i < shape.batch; ++i)
      for (std::int64_t r = 0; r < shape.m; ++r) {
        for (std::int64_t j = 0; j < shape.n; ++j) {
          const auto [want, size] = expected(rows, columns, i, r, j);
          // One rounding per product and sum, three per group, the epilogue's.
          const double bound = static_cast<double>(shape.k + 3 * groups + 4) * std::ldexp(size, -24);
          const double got = result(i, r, j);
          ASSERT_LE(std::fabs(got - want), traits.acc == DType::int32 && traits.quant == Quant::none ? 0 : bound)
              << what << " row " << r << " column " << j << " of batch " << i << ": " << got << " for " << want;
        }
        for (std::int64_t j = shape.n; j < ldc; ++j) ASSERT_EQ(c[at(i, r, j)], -7.0F) << what << ": beyond a row";
      }
  }

  double result(std::int64_t batch, std::int64_t r, std::int64_t j) const {
    const float v = c[at(batch, r, j)];
    return traits.c == DType::int32 ? static_cast<double>(static_cast<std::int32_t>(codec_detail::to_bits(v)))
                                    : double{v};
  }
  std::size_t at(std::int64_t batch, std::int64_t r, std::int64_t j) const {
    return static_cast<std::size_t>((batch * shape.m + r) * ldc + j);
  }

  GemmTraits traits;
  Shape shape;
  std::int64_t lda, ldb, ldc, groups;
  std::vector<unsigned char> a, b;
  std::vector<float> c, a_scale, b_scale, bias;
  bool a_scale_row_major = true, mx_scale_shuffled = false;

 private:
  std::vector<unsigned char> codes(const std::vector<float>& scales, std::int64_t rows) const {
    std::vector<unsigned char> plain(scales.size());
    for (std::size_t i = 0; i < scales.size(); ++i)
      plain[i] = static_cast<unsigned char>(encode(DType::e8m0, scales[i]));
    if (!mx_scale_shuffled) return plain;
    const auto one = static_cast<std::size_t>(shuffled_mx_scale_bytes(rows, groups));
    std::vector<unsigned char> shuffled(one * static_cast<std::size_t>(shape.batch));
    for (std::int64_t i = 0; i < shape.batch; ++i)
      shuffle_mx_scale(plain.data() + i * rows * groups, groups, shuffled.data() + one * static_cast<std::size_t>(i),
                       rows, groups);
    return shuffled;
  }
  void store_scales() {
    if (traits.quant == Quant::mx) {
      a_codes = codes(a_scale, shape.m);
      b_codes = codes(b_scale, shape.n);
    }
    a_stored = a_scale;
    if (a_scale_row_major || traits.quant != Quant::blockscale) return;
    for (std::int64_t i = 0; i < shape.batch; ++i)
      for (std::int64_t r = 0; r < shape.m; ++r)
        for (std::int64_t g = 0; g < groups; ++g)
          a_stored[static_cast<std::size_t>((i * groups + g) * shape.m + r)] =
              a_scale[static_cast<std::size_t>((i * shape.m + r) * groups + g)];
  }
  std::vector<unsigned char> a_codes, b_codes;
  std::vector<float> a_stored;
};

}  // namespace test_host_small_m
