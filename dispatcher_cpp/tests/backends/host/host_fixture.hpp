// One GEMM for the host kernels' tests: operands of small integers and scales that are powers of two, so that every sum
// is exact, and what it must give by a triple loop written from the formulas in ckgen/gemm_types.hpp.
#pragma once

#include "ckgen/codecs.hpp"
#include "ckgen/gemm_types.hpp"
#include "ckgen/preshuffle.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

// For the loops of references and of what draws operands, which one thread runs over memory of its own: watched by
// ThreadSanitizer they would take minutes, and as little optimised as all else half of the tests' time. Threads that
// read operands too early are seen all the same: it watches how a vector's bytes become 0.
#if defined(__clang__)
#define HOST_TEST_ONE_THREAD
#elif defined(__SANITIZE_THREAD__)
#define HOST_TEST_ONE_THREAD __attribute__((no_sanitize_thread))
#else
#define HOST_TEST_ONE_THREAD __attribute__((optimize("O2"), no_sanitize("undefined")))
#endif

namespace host_test {

using namespace ckgen;

struct Shape {
  std::int64_t m, n, k;
};

inline float read(DType t, const unsigned char* base, std::int64_t i) {
  if (t == DType::int8) return static_cast<float>(static_cast<signed char>(base[i]));
  if (t == DType::fp4) return decode(t, nibble(base[i / 2], static_cast<int>(i % 2)));
  if (t == DType::fp32 || t == DType::int32) {
    float f = 0;
    std::int32_t n = 0;
    std::memcpy(t == DType::fp32 ? static_cast<void*>(&f) : &n, base + i * 4, 4);
    return t == DType::fp32 ? f : static_cast<float>(n);
  }
  if (bits(t) == 16) {
    std::uint16_t h = 0;
    std::memcpy(&h, base + i * 2, 2);
    return decode(t, h);
  }
  return decode(t, base[i]);
}

inline void write(DType t, unsigned char* base, std::int64_t i, float v) {
  if (t == DType::int8) {
    base[i] = static_cast<unsigned char>(static_cast<signed char>(v));
  } else if (t == DType::fp4) {
    const std::uint32_t other = nibble(base[i / 2], static_cast<int>(1 - i % 2)), mine = encode(t, v);
    base[i / 2] = i % 2 == 0 ? pack_nibbles(mine, other) : pack_nibbles(other, mine);
  } else if (t == DType::fp32) {
    std::memcpy(base + i * 4, &v, 4);
  } else if (bits(t) == 16) {
    const std::uint16_t h = static_cast<std::uint16_t>(encode(t, v));
    std::memcpy(base + i * 2, &h, 2);
  } else {
    base[i] = static_cast<unsigned char>(encode(t, v));
  }
}

using Bytes = std::vector<unsigned char>;

/// What elements of a type hold for -2, -1, 0, 1 and 2; each is encoded once, since tests write millions of them.
class SmallIntegers {
 public:
  explicit SmallIntegers(DType t) : bits_(bits(t)) {
    for (int i = 0; i < 5; ++i) host_test::write(t, codes_[i], 0, static_cast<float>(i - 2));
  }
  /// Element i becomes `which` - 2.
  HOST_TEST_ONE_THREAD void write(unsigned char* base, std::int64_t i, unsigned which) const {
    const unsigned char* code = codes_[which];
    if (bits_ == 4) {
      const std::uint32_t other = nibble(base[i / 2], static_cast<int>(1 - i % 2)), mine = nibble(*code, 0);
      base[i / 2] = i % 2 == 0 ? pack_nibbles(mine, other) : pack_nibbles(other, mine);
      return;
    }
    const int bytes = bits_ / 8;
    for (int byte = 0; byte < bytes; ++byte) base[i * bytes + byte] = code[byte];
  }
  /// `count` of them become any of the five, and are `values` where that is not null.
  template <class Random>
  HOST_TEST_ONE_THREAD void draw(unsigned char* base, std::int64_t count, Random& random,
                                 float* values = nullptr) const {
    for (std::int64_t i = 0; i < count; ++i) {
      const unsigned which = random() % 5;
      write(base, i, which);
      if (values != nullptr) values[i] = static_cast<float>(static_cast<int>(which) - 2);
    }
  }

 private:
  int bits_;
  unsigned char codes_[5][4] = {};
};

// Heap memory of exactly the reported size, so that AddressSanitizer sees one byte too many.
struct Workspace {
  explicit Workspace(std::size_t bytes) : data(std::aligned_alloc(64, (bytes + 63) / 64 * 64)) {}
  ~Workspace() { std::free(data); }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  void* data;
};

class Fixture {
 public:
  Fixture(GemmTraits t, Shape s, std::int64_t batch = 1, unsigned seed = 1) : traits(t), random_{seed} {
    const bool a_rows = a_is_row_major(t.layout), b_rows = b_is_row_major(t.layout);
    args.m = s.m;
    args.n = s.n;
    args.k = s.k;
    args.batch = batch;
    args.lda = (a_rows ? s.k : s.m) + 4;
    args.ldb = t.preshuffle_b ? s.k : (b_rows ? s.n : s.k) + 2;
    args.ldc = s.n + 3;
    args.batch_stride_a = (a_rows ? s.m : s.k) * args.lda;
    args.batch_stride_b = (b_rows ? s.k : s.n) * args.ldb;
    args.batch_stride_c = s.m * args.ldc;
    a = fill(t.a, args.batch_stride_a * batch);
    b = fill(t.b, args.batch_stride_b * batch);
    c.assign(static_cast<std::size_t>(bytes_of(t.c, args.batch_stride_c * batch)), 0x5a);
    group = t.quant == Quant::blockscale ? 128 : t.quant == Quant::mx ? 32 : std::max<std::int64_t>(s.k, 1);
    groups = t.quant == Quant::blockscale || t.quant == Quant::mx ? (s.k + group - 1) / group : 1;
    const std::int64_t b_rows_of_scale = t.quant == Quant::blockscale ? (s.n + 127) / 128 : s.n;
    sa = scales(s.m * groups * batch);
    sb = scales(b_rows_of_scale * groups * batch);
    for (const float v : sa) sa8.push_back(static_cast<unsigned char>(encode(DType::e8m0, v)));
    for (const float v : sb) sb8.push_back(static_cast<unsigned char>(encode(DType::e8m0, v)));
    bias = scales(s.n);
    const bool mx = t.quant == Quant::mx;
    args.a_scale = mx ? static_cast<const void*>(sa8.data()) : sa.data();
    args.b_scale = mx ? static_cast<const void*>(sb8.data()) : sb.data();
    args.bias = t.bias ? bias.data() : nullptr;
    args.a_scale_row_major = true;
    args.c = c.data();
    args.a = a.data();
    args.b = b.data();
    if (t.preshuffle_b) {
      shuffled.resize(b.size());
      const std::int64_t row = bytes_of(t.b, s.k);
      for (std::int64_t i = 0; i < batch; ++i)
        EXPECT_TRUE(preshuffle_b(b.data() + i * s.n * row, row, shuffled.data() + i * s.n * row, s.n, row));
      args.b = shuffled.data();
    }
  }

  void expect_equal() const {
    const std::vector<float> af = values(traits.a, a), bf = values(traits.b, b);
    for (std::int64_t i = 0; i < args.batch; ++i)
      for (std::int64_t m = 0; m < args.m; ++m)
        for (std::int64_t n = 0; n < args.n; ++n) {
          const std::int64_t at = i * args.batch_stride_c + m * args.ldc + n;
          float want = reference(af, bf, i, m, n);
          if (has_codec(traits.c)) want = decode(traits.c, encode(traits.c, want));
          ASSERT_EQ(read(traits.c, c.data(), at), want) << "batch " << i << " m " << m << " n " << n;
        }
  }

  GemmTraits traits;
  GemmArgs args{};
  Bytes a, b, c, shuffled, sa8, sb8;
  std::vector<float> sa, sb, bias;
  std::int64_t group = 0, groups = 0;

 private:
  Bytes fill(DType t, std::int64_t n) {
    Bytes out(static_cast<std::size_t>(bytes_of(t, n)), 0);
    SmallIntegers(t).draw(out.data(), n, random_);
    return out;
  }
  std::vector<float> scales(std::int64_t n) {
    std::vector<float> out(static_cast<std::size_t>(n));
    for (float& v : out) v = random_() % 2 == 0 ? 0.5f : 2.0f;
    return out;
  }
  static float scale(const std::vector<float>& s, std::int64_t i) { return s[static_cast<std::size_t>(i)]; }

  static std::vector<float> values(DType t, const Bytes& from) {
    std::vector<float> out(from.size() * 8 / static_cast<std::size_t>(bits(t)));
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = read(t, from.data(), static_cast<std::int64_t>(i));
    return out;
  }

  HOST_TEST_ONE_THREAD float reference(const std::vector<float>& af, const std::vector<float>& bf, std::int64_t i,
                                       std::int64_t m, std::int64_t n) const {
    const bool a_rows = a_is_row_major(traits.layout), b_rows = b_is_row_major(traits.layout);
    const float* of_a = af.data() + i * args.batch_stride_a + m * (a_rows ? args.lda : 1);
    const float* of_b = bf.data() + i * args.batch_stride_b + n * (b_rows ? 1 : args.ldb);
    const std::int64_t step_a = a_rows ? 1 : args.lda, step_b = b_rows ? args.ldb : 1, depth = args.k;
    double sum = 0;
    for (std::int64_t g = 0; g * group < depth; ++g) {
      double part = 0;
      const std::int64_t end = std::min((g + 1) * group, depth);
      for (std::int64_t k = g * group; k < end; ++k)
        part += static_cast<double>(of_a[k * step_a]) * static_cast<double>(of_b[k * step_b]);
      if (traits.quant == Quant::mx)
        part *= scale(sa, (i * args.m + m) * groups + g) * scale(sb, (i * args.n + n) * groups + g);
      if (traits.quant == Quant::blockscale)
        part *=
            scale(sa, (i * args.m + m) * groups + g) * scale(sb, (i * ((args.n + 127) / 128) + n / 128) * groups + g);
      sum += part;
    }
    if (traits.quant == Quant::rowwise) sum *= scale(sa, i * args.m + m) * scale(sb, i * args.n + n);
    if (traits.quant == Quant::per_tensor) sum *= scale(sa, 0) * scale(sb, 0);
    if (traits.bias) sum += bias[static_cast<std::size_t>(n)];
    return static_cast<float>(sum);
  }

  struct {
    HOST_TEST_ONE_THREAD unsigned operator()() { return (state = state * 1664525u + 1013904223u) >> 16; }
    unsigned state;
  } random_;
};

}  // namespace host_test
