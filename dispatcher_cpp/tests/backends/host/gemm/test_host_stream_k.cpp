// Stream-K on the CPU against a reference that deals the iterations one by one and adds as gemm_types.hpp's formulas
// say: fused multiply-adds over ascending k within a part, then the strategy's order. Results must be equal, bit by
// bit.
#include "backends/host/gemm/gemm.hpp"
#include "backends/host/host_fixture.hpp"
#include "ckgen/codecs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace test_host_stream_k {

using namespace ckgen;

const bool kConfigured = [] { return setenv("CKGEN_NUM_THREADS", "3", 1) == 0; }();

using Bytes = std::vector<unsigned char>;

struct Case {
  GemmTraits traits;
  std::int64_t m, n, k, batch, workgroups;
  TwinConfig tile;
};

float to(DType t, float value) {
  if (t == DType::fp32 || t == DType::int32) return value;
  return decode(t, encode(t, value));
}

/// Values of one row or column along K.
struct Line {
  const float* first;
  std::int64_t step;
};

class Data {
 public:
  explicit Data(const Case& c) : case_(c) {
    const GemmTraits& t = c.traits;
    GemmArgs& x = args;
    x.m = c.m;
    x.n = c.n;
    x.k = c.k;
    x.batch = c.batch;
    x.lda = (a_is_row_major(t.layout) ? c.k : c.m) + 3;
    x.ldb = (b_is_row_major(t.layout) ? c.n : c.k) + 1;
    x.ldc = c.n + 5;
    x.batch_stride_a = (a_is_row_major(t.layout) ? c.m : c.k) * x.lda + 2;
    x.batch_stride_b = 0;  // shared by all batches
    x.batch_stride_c = c.m * x.ldc + 7;
    const std::int64_t size_of_b = (b_is_row_major(t.layout) ? c.k : c.n) * x.ldb;
    a = fill(t.a, x.batch_stride_a * c.batch);
    b = fill(t.b, size_of_b);
    a_values_ = values(t.a, a, x.batch_stride_a * c.batch);
    b_values_ = values(t.b, b, size_of_b);
    result.assign(static_cast<std::size_t>(bytes_of(t.c, x.batch_stride_c * c.batch)), 0xcd);
    for (std::int64_t i = 0; i < std::max(c.m, c.n) * c.batch; ++i) {
      a_scale.push_back(0.5F + next());
      b_scale.push_back(0.5F + next());
      bias.push_back(next());
    }
    x.a = a.data();
    x.b = b.data();
    x.c = result.data();
    if (t.quant != Quant::none) {
      x.a_scale = a_scale.data();
      x.b_scale = b_scale.data();
    }
    if (t.bias) x.bias = bias.data();
  }

  /// A row of A, and a column of B.
  Line row(std::int64_t i, std::int64_t m) const {
    const bool rows = a_is_row_major(case_.traits.layout);
    return {a_values_.data() + i * args.batch_stride_a + m * (rows ? args.lda : 1), rows ? 1 : args.lda};
  }
  Line column(std::int64_t n) const {
    const bool rows = b_is_row_major(case_.traits.layout);
    return {b_values_.data() + n * (rows ? 1 : args.ldb), rows ? args.ldb : 1};
  }
  double c_at(std::int64_t i, std::int64_t m, std::int64_t n) const {
    const std::int64_t at = i * args.batch_stride_c + m * args.ldc + n;
    if (case_.traits.c != DType::int32) return get(case_.traits.c, result, at);
    std::int32_t whole = 0;
    std::memcpy(&whole, result.data() + at * 4, 4);
    return whole;
  }

  GemmArgs args{};
  Bytes a, b, result;
  std::vector<float> a_scale, b_scale, bias;

 private:
  float next() {
    state_ = state_ * 1664525U + 1013904223U;
    return static_cast<float>(state_ >> 8) / static_cast<float>(1U << 24) - 0.5F;
  }
  Bytes fill(DType t, std::int64_t count) {
    Bytes bytes(static_cast<std::size_t>(bytes_of(t, count)));
    for (std::int64_t i = 0; i < count; ++i) {
      if (t == DType::int8) {
        bytes[static_cast<std::size_t>(i)] = static_cast<unsigned char>(static_cast<int>(next() * 254.0F));
        continue;
      }
      const float value = next() * 2.0F;
      if (t == DType::fp32) {
        std::memcpy(bytes.data() + i * 4, &value, 4);
      } else {
        const std::uint32_t code = encode(t, value);
        std::memcpy(bytes.data() + bytes_of(t, i), &code, static_cast<std::size_t>(bits(t) / 8));
      }
    }
    return bytes;
  }
  static std::vector<float> values(DType t, const Bytes& from, std::int64_t count) {
    std::vector<float> all(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = get(t, from, static_cast<std::int64_t>(i));
    return all;
  }
  static float get(DType t, const Bytes& from, std::int64_t i) {
    if (t == DType::int8) return static_cast<float>(static_cast<signed char>(from[static_cast<std::size_t>(i)]));
    std::uint32_t code = 0;
    std::memcpy(&code, from.data() + bytes_of(t, i), static_cast<std::size_t>(bits(t) / 8));
    if (t != DType::fp32) return decode(t, code);
    float value = 0;
    std::memcpy(&value, &code, 4);
    return value;
  }

  Case case_;
  std::vector<float> a_values_, b_values_;
  std::uint32_t state_ = 7;
};

/// The parts of each tile in iterations: dealt one by one, whole tiles first.
std::vector<std::vector<std::int64_t>> parts_of(std::int64_t tiles, std::int64_t iterations, std::int64_t grid) {
  std::vector<std::vector<std::int64_t>> parts(static_cast<std::size_t>(tiles));
  const std::int64_t rest = tiles % grid;
  const std::int64_t split = rest == 0 ? 0 : tiles > grid ? grid + rest : tiles;
  for (std::int64_t t = 0; t < tiles - split; ++t) parts[static_cast<std::size_t>(t)] = {iterations};
  std::int64_t owner = 0, left = 0;
  const std::int64_t all = split * iterations;
  for (std::int64_t i = 0; i < all; ++i) {
    if (left == 0) {
      left = all / grid + (owner < all % grid ? 1 : 0);
      ++owner;
    }
    auto& own = parts[static_cast<std::size_t>(tiles - split + i / iterations)];
    const bool begins = i % iterations == 0 || left == all / grid + (owner - 1 < all % grid ? 1 : 0);
    if (begins) own.push_back(0);
    ++own.back();
    --left;
  }
  return parts;
}

double finished(const Data& d, const GemmTraits& t, double acc, std::int64_t m, std::int64_t n, bool with_bias) {
  if (t.c == DType::int32) return acc;
  float value = static_cast<float>(acc);
  if (t.quant == Quant::rowwise)
    value = value * d.a_scale[static_cast<std::size_t>(m)] * d.b_scale[static_cast<std::size_t>(n)];
  if (t.quant == Quant::per_tensor) value = value * d.a_scale[0] * d.b_scale[0];
  return t.bias && with_bias ? value + d.bias[static_cast<std::size_t>(n)] : value;
}

// One instruction a term instead of a call of libm; every level of host kernels has it.
#if defined(__x86_64__)
__attribute__((target("fma")))
#endif
HOST_TEST_ONE_THREAD float sum_of(const Line& a, const Line& b, std::int64_t k, std::int64_t end) {
  float sum = 0;
  for (; k < end; ++k) sum = ::fmaf(a.first[k * a.step], b.first[k * b.step], sum);
  return sum;
}

HOST_TEST_ONE_THREAD std::int32_t whole_of(const Line& a, const Line& b, std::int64_t k, std::int64_t end) {
  std::int32_t sum = 0;
  for (; k < end; ++k)
    sum += static_cast<std::int32_t>(a.first[k * a.step]) * static_cast<std::int32_t>(b.first[k * b.step]);
  return sum;
}

double expected(const Data& d, const Case& c, Strategy strategy, const std::vector<std::int64_t>& parts, std::int64_t i,
                std::int64_t m, std::int64_t n) {
  const bool integers = c.traits.a == DType::int8;
  const Line row_of_a = d.row(i, m), column_of_b = d.column(n);
  std::vector<float> sums;
  std::vector<std::int32_t> wholes;
  std::int64_t k = 0;
  for (const std::int64_t part : parts) {
    const std::int64_t end = std::min(k + part * c.tile.tile_k, c.k);
    if (integers)
      wholes.push_back(whole_of(row_of_a, column_of_b, k, end));
    else
      sums.push_back(sum_of(row_of_a, column_of_b, k, end));
    k = end;
  }
  // rowwise scales follow the batch's A; B is shared
  const std::int64_t row = i * c.m + m;
  if (strategy == Strategy::atomic && parts.size() > 1 && c.traits.c != DType::int32) {
    float total = 0;
    for (std::size_t s = 0; s < parts.size(); ++s) {
      const double one = finished(d, c.traits, integers ? wholes[s] : static_cast<double>(sums[s]), row, n, s == 0);
      total = to(c.traits.c, total + to(c.traits.c, static_cast<float>(one)));
    }
    return total;
  }
  if (integers) {
    std::int32_t all = 0;
    for (const std::int32_t whole : wholes) all += whole;
    if (c.traits.c == DType::int32) return all;
    return to(c.traits.c, static_cast<float>(finished(d, c.traits, all, row, n, true)));
  }
  if (strategy == Strategy::tree) {
    while (sums.size() > 1) {
      std::vector<float> next;
      for (std::size_t s = 0; s < sums.size(); s += 2)
        next.push_back(s + 1 < sums.size() ? sums[s] + sums[s + 1] : sums[s]);
      sums = next;
    }
  }
  float total = sums[0];
  for (std::size_t s = 1; s < sums.size(); ++s) total += sums[s];
  return to(c.traits.c, static_cast<float>(finished(d, c.traits, static_cast<double>(total), row, n, true)));
}

/// Heap memory of exactly the reported size with a canary behind it; NaN-filled, as nothing may be read unwritten.
struct Workspace {
  explicit Workspace(std::size_t bytes) : size(bytes), all(bytes + 128 + 64, 0xff) {
    begin = all.data() + (64 - reinterpret_cast<std::uintptr_t>(all.data()) % 64) % 64;
  }
  bool intact() const {
    return std::all_of(begin + size, begin + size + 64, [](unsigned char x) { return x == 0xff; });
  }
  std::size_t size;
  Bytes all;
  unsigned char* begin;
};

void expect_equal(const Data& d, const Case& c, Strategy strategy) {
  const std::int64_t across = (c.n + c.tile.tile_n - 1) / c.tile.tile_n,
                     down = (c.m + c.tile.tile_m - 1) / c.tile.tile_m;
  const auto parts = parts_of(across * down * c.batch, (c.k + c.tile.tile_k - 1) / c.tile.tile_k, c.workgroups);
  for (std::int64_t i = 0; i < c.batch; ++i)
    for (std::int64_t m = 0; m < c.m; ++m)
      for (std::int64_t n = 0; n < c.n; ++n) {
        const std::int64_t tile = (i * down + m / c.tile.tile_m) * across + n / c.tile.tile_n;
        ASSERT_EQ(d.c_at(i, m, n), expected(d, c, strategy, parts[static_cast<std::size_t>(tile)], i, m, n))
            << "at " << i << ' ' << m << ' ' << n;
      }
}

void expect_right(const Case& c, Strategy strategy) {
  SCOPED_TRACE(testing::Message() << name(strategy) << ' ' << name(c.traits.a) << " to " << name(c.traits.c) << ' '
                                  << name(c.traits.layout) << ' ' << c.m << 'x' << c.n << 'x' << c.k << " on "
                                  << c.workgroups);
  Data d(c);
  Workspace room(host::gemm_twin_stream_k_workspace(c.traits, c.tile, strategy, c.workgroups, c.m, c.n, c.k, c.batch));
  ASSERT_GT(room.size, 0U);
  const Status status = host::run_gemm_twin_stream_k(c.traits, c.tile, strategy, c.workgroups, d.args, room.begin);
  ASSERT_TRUE(status.ok()) << status.message;
  EXPECT_TRUE(room.intact());
  expect_equal(d, c, strategy);
}

constexpr Strategy kStrategies[] = {Strategy::atomic, Strategy::linear, Strategy::tree};
constexpr Layout kLayouts[] = {Layout::rcr, Layout::rrr, Layout::ccr, Layout::crr};

GemmTraits traits(DType a, DType c, Layout layout = Layout::rcr, Quant quant = Quant::none, bool bias = false) {
  const DType acc = a == DType::int8 ? DType::int32 : DType::fp32;
  return {a, a, c, acc, layout, quant, false, bias};
}

constexpr TwinConfig kTile{16, 32, 8, 0, true, true, true};

TEST(HostStreamK, AllTypesLayoutsAndStrategies) {
  const GemmTraits kinds[] = {
      traits(DType::fp32, DType::fp32),     traits(DType::fp16, DType::fp16),    traits(DType::bf16, DType::bf16),
      traits(DType::fp8_fnuz, DType::bf16), traits(DType::fp8_ocp, DType::fp16), traits(DType::bf8_fnuz, DType::bf16),
      traits(DType::bf8_ocp, DType::fp32),  traits(DType::int8, DType::int32),   traits(DType::int8, DType::bf16),
  };
  for (GemmTraits kind : kinds)
    for (const Layout layout : kLayouts)
      for (const Strategy strategy : kStrategies) {
        kind.layout = layout;
        expect_right({kind, 37, 41, 83, 1, 7, kTile}, strategy);
      }
}

TEST(HostStreamK, BiasScalesAndBatches) {
  for (const Strategy strategy : kStrategies) {
    expect_right({traits(DType::fp16, DType::fp16, Layout::rrr, Quant::none, true), 20, 35, 70, 1, 5, kTile}, strategy);
    expect_right({traits(DType::fp8_ocp, DType::bf16, Layout::rcr, Quant::rowwise, true), 20, 35, 70, 1, 5, kTile},
                 strategy);
    expect_right({traits(DType::int8, DType::fp16, Layout::rcr, Quant::per_tensor), 20, 35, 70, 1, 5, kTile}, strategy);
    expect_right({traits(DType::bf16, DType::fp32, Layout::ccr), 18, 33, 50, 3, 5, kTile}, strategy);
  }
}

TEST(HostStreamK, EveryGridFromOneToTheLastFeasible) {
  const GemmTraits kind = traits(DType::fp32, DType::fp32);
  for (std::int64_t grid = 1; grid <= 24; ++grid)
    for (const Strategy strategy : kStrategies) expect_right({kind, 33, 33, 31, 1, grid, kTile}, strategy);  // 6 x 4
}

TEST(HostStreamK, AHostInstanceAddsLikeItsTwinWouldWhateverItsThreads) {
  if (!host::isa_available(Isa::x86_64_v3)) GTEST_SKIP() << "no AVX2";
  for (const Strategy strategy : kStrategies) {
    const Case c{traits(DType::fp32, DType::fp32), 50, 70, 900, 1, 6, {32, 48, 64, 0, true, true, true}};
    Bytes first;
    for (const int threads : {1, 2, 3}) {
      const HostConfig config{Isa::x86_64_v3, 4, 16, 32, 48, 64, threads};
      Data d(c);
      Workspace room(host::gemm_host_stream_k_workspace(c.traits, config, strategy, 6, c.m, c.n, c.k, 1));
      const Status status = host::run_gemm_host_stream_k(c.traits, config, strategy, 6, d.args, room.begin);
      ASSERT_TRUE(status.ok()) << status.message;
      EXPECT_TRUE(room.intact());
      if (threads == 1) expect_equal(d, c, strategy);
      if (first.empty()) first = d.result;
      EXPECT_EQ(first, d.result) << threads << " threads";
    }
  }
}

TEST(HostStreamK, WhatItCannotDoIsRefused) {
  const auto message = [](const GemmTraits& t, Strategy strategy, std::int64_t grid) {
    Data d({t, 16, 16, 128, 1, 1, kTile});
    d.args.a_scale = d.a_scale.data();
    d.args.b_scale = d.b_scale.data();
    Workspace room(1 << 20);
    EXPECT_EQ(host::gemm_twin_stream_k_workspace(t, kTile, strategy, grid, 16, 16, 128, 1), 0U);
    return std::string(host::run_gemm_twin_stream_k(t, kTile, strategy, grid, d.args, room.begin).message);
  };
  const GemmTraits fp32 = traits(DType::fp32, DType::fp32);
  EXPECT_EQ(message(fp32, Strategy::linear, 17), "16 iterations of K are fewer than 17 workgroups");
  EXPECT_EQ(message(fp32, Strategy::data_parallel, 2), "strategy or workgroups out of range for stream-K");
  EXPECT_EQ(message(fp32, Strategy::tree, 0), "strategy or workgroups out of range for stream-K");
  EXPECT_EQ(message(traits(DType::fp8_ocp, DType::bf16, Layout::rcr, Quant::blockscale), Strategy::tree, 2),
            "stream-K has no kernel for scales of K groups (blockscale)");
}

}  // namespace test_host_stream_k
