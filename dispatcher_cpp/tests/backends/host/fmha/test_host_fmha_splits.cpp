// Splits of KV on the CPU: where they begin, and that their parts are combined in their order, to the bit.
#include "backends/host/fmha/host_fmha_reference.hpp"

#include <algorithm>

namespace host_test {
namespace test_host_fmha_splits {

struct Part {
  std::int64_t begin, end;
};

/// A causal problem in fp32 of one KV head with two query heads.
FmhaCase causal(int rows, int keys, Backend backend, std::uint32_t splits) {
  FmhaTraits traits;
  traits.masked = traits.lse = true;
  FmhaCase c = fmha_case(DType::fp32, DType::fp32, DType::fp32, traits, fmha_shape(1, 2, 1, rows, keys, 32, 24));
  c.splits = splits;
  c.twin = backend != Backend::host, c.twin_of = backend;
  c.merge_heads = backend != Backend::ck_tile;
  c.isa = host::detect_isa();
  c.m0 = 16, c.n0 = 64;
  return c;
}

/// Attention of all rows over some keys alone, as a problem of its own.
FmhaFixture over(const FmhaFixture& whole, const Part& part) {
  FmhaCase c = whole.c;
  c.splits = 1;
  c.shape.seqlen_k = part.end - part.begin;
  c.shape.window_right = static_cast<std::int32_t>(whole.c.shape.seqlen_k - part.end);
  FmhaFixture f(c);
  const FmhaArgs& a = whole.args;
  f.args.q = a.q, f.args.scale = a.scale;
  f.args.k = static_cast<const float*>(a.k) + part.begin * a.k_strides.row;
  f.args.v = static_cast<const float*>(a.v) + part.begin * a.v_strides.row;
  EXPECT_TRUE(f.run().ok());
  return f;
}

float at(const Bytes& bytes, std::int64_t i) {
  return static_cast<float>(read(DType::fp32, bytes.data(), i));
}

/// Rows [first, end), all heads, are the combination of the parts in their order: the same bits.
void expect_combined(const FmhaFixture& f, const std::vector<Part>& parts, std::int64_t first, std::int64_t end) {
  std::vector<FmhaFixture> all;
  for (const Part& part : parts) all.push_back(over(f, part));
  const std::int64_t heads = f.c.shape.heads_q, rows = f.c.shape.seqlen_q, hdim = f.c.shape.hdim_v;
  for (std::int64_t i = first; i < end; ++i)
    for (std::int64_t h = 0; h < heads; ++h) {
      const std::size_t of_lse = static_cast<std::size_t>(h * rows + i);
      float most = -std::numeric_limits<float>::infinity(), sum = 0.0F;
      for (const FmhaFixture& one : all) most = std::max(most, one.lse[of_lse]);
      for (const FmhaFixture& one : all) sum += std::exp(one.lse[of_lse] - most);
      ASSERT_EQ(f.lse[of_lse], most + std::log(sum)) << "row " << i;
      for (std::int64_t d = 0; d < hdim; ++d) {
        const std::int64_t of_o = (i * heads + h) * hdim + d;
        float o = 0.0F;
        for (const FmhaFixture& one : all) o += at(one.o, of_o) * std::exp(one.lse[of_lse] - most);
        ASSERT_EQ(at(f.o, of_o), o * (1.0F / sum)) << "row " << i << " d " << d;
      }
    }
}

TEST(HostFmhaSplits, OfTheCpuShareTiles) {
  FmhaFixture f(causal(3, 300, Backend::host, 3));
  ASSERT_TRUE(f.run().ok());
  expect_combined(f, {{0, 128}, {128, 256}, {256, 300}}, 0, 3);
}

// Blocks of 16 keys: a quarter of the step. A tile is 8 rows of both heads.
TEST(HostFmhaSplits, OfTheDecodeKernelsTwinShareBlocksOfEachTile) {
  FmhaFixture f(causal(16, 168, Backend::hip, 3));
  ASSERT_TRUE(f.run().ok());
  expect_combined(f, {{0, 48}, {48, 96}, {96, 168}}, 0, 8);     // 160 keys: 10 blocks
  expect_combined(f, {{0, 48}, {48, 112}, {112, 168}}, 8, 16);  // 168 keys: 11 blocks
}

TEST(HostFmhaSplits, OfTheSplitKernelsTwinShareColumns) {
  for (const int rows : {3, 40}) {
    FmhaFixture f(causal(rows, 302, Backend::ck_tile, 3));
    ASSERT_TRUE(f.run().ok());
    expect_combined(f, {{0, 101}, {101, 202}, {202, 302}}, 0, rows);
  }
}

// Pages hold whole words of two bf16 columns, wherever a split begins.
TEST(HostFmhaSplits, BeginAnywhereInPages) {
  for (const Backend backend : {Backend::ck_tile, Backend::hip})
    for (const int rows : {3, 40}) {
      FmhaTraits traits;
      traits.masked = traits.lse = true;
      traits.kv = FmhaKv::block_table;
      FmhaShape shape = fmha_shape(2, 4, 2, rows, 302, 32, 24);
      shape.page_size = 16;
      FmhaCase c = fmha_case(DType::bf16, DType::bf16, DType::bf16, traits, shape);
      c.used_k = {302, 45};
      c.splits = 3, c.twin = true, c.twin_of = backend, c.merge_heads = backend == Backend::hip;
      FmhaFixture f(c);
      ASSERT_TRUE(f.run().ok());
      expect_right(f);
    }
}

TEST(HostFmhaSplits, WithSinksOfBothKinds) {
  for (const Backend backend : {Backend::host, Backend::hip})
    for (const std::uint32_t splits : {2U, 5U}) {
      FmhaTraits traits;
      traits.masked = traits.lse = traits.sink = true;
      FmhaShape shape = fmha_shape(1, 8, 2, 4, 500, 32, 24);
      shape.window_left = 90, shape.sink_tokens = 70;
      FmhaCase c = fmha_case(DType::fp16, DType::fp16, DType::fp16, traits, shape);
      c.m0 = 16, c.splits = splits, c.twin = backend != Backend::host, c.twin_of = backend, c.merge_heads = true;
      FmhaFixture f(c);
      ASSERT_TRUE(f.run().ok());
      expect_right(f);
    }
}

}  // namespace test_host_fmha_splits
}  // namespace host_test
