// Attention on the CPU against its definition in fp64: types, head dims, heads, layouts, tiles, splits, threads.
#include "backends/host/fmha/host_fmha_reference.hpp"

#include <cstring>

namespace host_test {
namespace test_host_fmha {

std::vector<Isa> levels() {
  std::vector<Isa> all;
  for (const Isa isa : {Isa::x86_64_v3, Isa::x86_64_v4, Isa::x86_64_v4_bf16, Isa::x86_64_amx})
    if (host::isa_available(isa)) all.push_back(isa);
  return all;
}

TEST(HostFmha, EveryTypeOfOperandsAndResult) {
  using D = DType;
  const std::array<D, 3> types[] = {
      {D::fp32, D::fp32, D::fp32},       {D::fp16, D::fp16, D::fp16},         {D::bf16, D::bf16, D::bf16},
      {D::bf16, D::bf16, D::fp32},       {D::bf16, D::fp8_ocp, D::bf16},      {D::fp16, D::fp8_fnuz, D::fp16},
      {D::fp8_ocp, D::fp8_ocp, D::fp32}, {D::fp8_fnuz, D::fp8_fnuz, D::bf16}, {D::fp8_ocp, D::fp8_ocp, D::fp8_ocp}};
  FmhaTraits traits;
  traits.lse = true;
  for (const auto& [q, kv, o] : types) {
    SCOPED_TRACE(testing::Message() << name(q) << " " << name(kv) << " " << name(o));
    expect_right(fmha_case(q, kv, o, traits, fmha_shape(2, 2, 2, 35, 70, 40, 24)));
  }
}

TEST(HostFmha, HeadDimsFromOneTo256) {
  const int dims[][2] = {{1, 1}, {3, 5}, {16, 33}, {31, 2}, {64, 64}, {72, 128}, {192, 128}, {256, 255}};
  for (const auto& dim : dims)
    for (const DType type : {DType::fp32, DType::bf16})
      for (const int heads_q : {1, 4}) {
        SCOPED_TRACE(testing::Message() << dim[0] << " " << dim[1] << " heads " << heads_q);
        expect_right(fmha_case(type, type, type, {}, fmha_shape(1, heads_q, 1, 9, 67, dim[0], dim[1])));
      }
}

TEST(HostFmha, EveryNumberOfRowsAndOfColumnsOfATile) {
  for (int rows = 1; rows <= 9; ++rows)
    for (const int columns : {1, 15, 16, 17, 31, 33, 48, 63, 64, 65, 129}) {
      SCOPED_TRACE(testing::Message() << rows << " x " << columns);
      FmhaCase c = fmha_case(DType::bf16, DType::bf16, DType::fp32, {}, fmha_shape(1, 1, 1, rows, columns, 20, 18));
      expect_right(c);
    }
}

TEST(HostFmha, QueryHeadsShareKeysAndValues) {
  for (const auto& [heads_q, heads_k] : {std::pair{8, 2}, std::pair{3, 1}, std::pair{12, 12}, std::pair{10, 1}})
    for (const int rows : {1, 2, 13})
      for (const bool heads_first : {false, true}) {
        SCOPED_TRACE(testing::Message() << heads_q << ":" << heads_k << " rows " << rows);
        FmhaTraits traits;
        traits.masked = traits.lse = true;
        FmhaCase c = fmha_case(DType::bf16, DType::bf16, DType::bf16, traits,
                               fmha_shape(2, heads_q, heads_k, rows, 100, 32, 32));
        c.heads_first = heads_first;
        c.m0 = 16;
        expect_right(c);
      }
}

TEST(HostFmha, ValuesInColumns) {
  for (const DType type : {DType::fp32, DType::bf16, DType::fp8_ocp}) {
    FmhaTraits traits;
    traits.v_column = true;
    const DType o = type == DType::fp8_ocp ? DType::fp32 : type;
    expect_right(fmha_case(type, type, o, traits, fmha_shape(2, 4, 2, 11, 75, 16, 40)));
  }
}

TEST(HostFmha, TilesOfEverySize) {
  FmhaTraits traits;
  traits.masked = traits.lse = true;
  for (const DType type : {DType::fp32, DType::bf16})
    for (const int m0 : {1, 7, 64, 128})
      for (const int n0 : {1, 16, 31, 32, 100, 256}) {
        SCOPED_TRACE(testing::Message() << m0 << " x " << n0);
        FmhaCase c = fmha_case(type, type, type, traits, fmha_shape(1, 2, 1, 70, 137, 24, 16));
        c.m0 = m0, c.n0 = n0;
        expect_right(c);
      }
}

TEST(HostFmha, ResultsDependOnNeitherThreadsNorRowsOfATile) {
  for (const DType type : {DType::fp32, DType::bf16}) {
    FmhaTraits traits;
    traits.masked = traits.lse = true;
    for (const std::uint32_t splits : {1U, 3U}) {
      FmhaCase c = fmha_case(type, type, type, traits, fmha_shape(1, 4, 2, 130, 300, 64, 64));
      c.isa = levels().back();
      c.splits = splits;
      c.threads = 1;
      FmhaFixture one(c);
      ASSERT_TRUE(one.run().ok());
      c.threads = 2;
      FmhaFixture two(c);
      ASSERT_TRUE(two.run().ok());
      EXPECT_EQ(one.o, two.o);
      EXPECT_EQ(one.lse, two.lse);
      if (splits > 1) continue;
      c.m0 = 24;
      FmhaFixture fewer_rows(c);
      ASSERT_TRUE(fewer_rows.run().ok());
      EXPECT_EQ(one.o, fewer_rows.o);
    }
  }
}

TEST(HostFmha, ColumnsPerStepCount) {
  FmhaCase c = fmha_case(DType::fp32, DType::fp32, DType::fp32, {}, fmha_shape(1, 1, 1, 40, 300, 64, 64));
  c.isa = levels().back();
  FmhaFixture one(c);
  ASSERT_TRUE(one.run().ok());
  c.n0 = 96;
  FmhaFixture other(c);
  ASSERT_TRUE(other.run().ok());
  EXPECT_NE(one.o, other.o);  // sums round in another order
}

// Whole words of them: two of bf16 are multiplied at once.
TEST(HostFmha, ValuesThatNoRowSeesMayBeNaN) {
  constexpr int kFirst = 60, kEnd = 70, kKeys = 100, kDim = 40;
  for (const int heads : {1, 8, 40})  // K and V where they are, and packed
    for (const bool at_end : {false, true}) {
      FmhaTraits traits;
      traits.masked = true;
      FmhaCase c =
          fmha_case(DType::bf16, DType::bf16, DType::bf16, traits, fmha_shape(1, heads, 1, 1, kKeys, kDim, kDim));
      c.shape.corner = at_end ? FmhaCorner::top_left : FmhaCorner::bottom_right;
      c.shape.window_left = at_end ? -1 : kKeys - 1 - kFirst, c.shape.window_right = at_end ? kEnd - 1 : 0;
      FmhaFixture f(c);
      const FmhaReference reference(f);
      for (int j = at_end ? kEnd : 0; j < (at_end ? kKeys : kFirst); ++j)
        for (int d = 0; d < kDim; ++d) {
          const std::uint16_t nan = 0x7fc0;
          std::memcpy(f.v.data() + 2 * (j * kDim + d), &nan, 2);
        }
      for (const Isa isa : levels()) {
        SCOPED_TRACE(testing::Message() << host::isa_name(isa) << " heads " << heads << " at the end " << at_end);
        f.c.isa = isa;
        f.clear_results();
        ASSERT_TRUE(f.run().ok());
        reference.expect_right(f);
      }
    }
}

TEST(HostFmha, TwinsRunAtTheBestLevel) {
  for (const DType type : {DType::fp16, DType::bf16}) {
    FmhaTraits traits;
    traits.masked = traits.lse = true;
    FmhaCase c = fmha_case(type, type, type, traits, fmha_shape(2, 4, 2, 70, 200, 64, 64));
    c.m0 = 128, c.n0 = 32;
    c.twin = host::detect_isa() >= Isa::x86_64_v4_bf16;
    FmhaFixture f(c);
    ASSERT_TRUE(f.run().ok());
    expect_right(f);
  }
}

TEST(HostFmha, SplitsOfKeys) {
  for (const std::uint32_t splits : {2U, 3U, 7U, 16U})
    for (const DType type : {DType::fp32, DType::bf16}) {
      SCOPED_TRACE(splits);
      FmhaTraits traits;
      traits.masked = traits.lse = traits.sink = true;
      FmhaCase c = fmha_case(type, type, type, traits, fmha_shape(2, 8, 1, 2, 333, 48, 32));
      c.splits = splits;
      expect_right(c);
    }
}

TEST(HostFmha, LargeScoresDoNotOverflow) {
  FmhaTraits traits;
  traits.lse = true;
  for (const float scale : {30.0F, -1.0F, 1e-30F}) {
    FmhaCase c = fmha_case(DType::fp32, DType::fp32, DType::fp32, traits, fmha_shape(1, 1, 1, 17, 90, 32, 32));
    c.amplitude = 0.5F;  // rounding of scores is what limits the result
    c.scale = scale;
    for (const Isa isa : levels()) {
      c.isa = isa;
      FmhaFixture f(c);
      ASSERT_TRUE(f.run().ok());
      for (std::size_t i = 0; i < f.o.size() / 4; ++i)
        ASSERT_TRUE(std::isfinite(read(DType::fp32, f.o.data(), static_cast<std::int64_t>(i))));
    }
    if (scale < 30.0F) expect_right(c);
  }
}

// Up to 32 rows of a KV head read K and V where they are: several heads at a time where a row has them side by side.
TEST(HostFmha, FewRowsOfEveryType) {
  const std::pair<DType, DType> types[] = {{DType::fp32, DType::fp32},     {DType::fp16, DType::fp16},
                                           {DType::bf16, DType::bf16},     {DType::bf16, DType::fp8_ocp},
                                           {DType::bf16, DType::fp8_fnuz}, {DType::bf16, DType::bf8_ocp}};
  for (const auto& [q, kv] : types)
    for (const int group : {1, 2, 3, 9})
      for (const int hdim : {72, 33}) {
        SCOPED_TRACE(testing::Message() << name(q) << " " << name(kv) << " group " << group << " hdim " << hdim);
        FmhaTraits traits;
        traits.lse = true;
        if (q != kv) traits.quant = FmhaQuant::per_tensor;
        FmhaCase c = fmha_case(q, kv, q, traits, fmha_shape(1, 3 * group, 3, 1, 75, hdim, 105 - hdim));
        c.n0 = hdim == 72 ? 64 : 128;
        c.heads_first = hdim == 33;
        c.threads = group == 1 ? 1 : 2;
        expect_right(c);
      }
}

// Of many heads or long rows a tile is several blocks: what was summed before is scaled in the first of them only.
TEST(HostFmha, FewRowsInSeveralBlocksOfATile) {
  for (const DType type : {DType::fp32, DType::bf16})
    for (const int group : {1, 8}) {
      SCOPED_TRACE(testing::Message() << name(type) << " group " << group);
      FmhaCase c = fmha_case(type, type, type, {}, fmha_shape(1, 8 * group, 8, 1, 700, 128, 128));
      c.threads = 1;
      c.scale = 1.0F;  // rows find larger scores in later tiles
      expect_right(c);
    }
}

TEST(HostFmha, FewRowsOfAWindowWithSinkTokens) {
  FmhaTraits traits;
  traits.masked = traits.lse = true;
  for (const int splits : {1, 3}) {
    FmhaShape shape = fmha_shape(1, 8, 4, 3, 500, 32, 32);
    shape.window_left = 150, shape.sink_tokens = 5;
    FmhaCase c = fmha_case(DType::bf16, DType::bf16, DType::bf16, traits, shape);
    c.splits = static_cast<std::uint32_t>(splits);
    expect_right(c);
  }
}

}  // namespace test_host_fmha
}  // namespace host_test
