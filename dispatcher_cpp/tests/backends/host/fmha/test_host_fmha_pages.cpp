// Attention on the CPU over pages: tables and lists, rows and vectors, descales, any size and distance of pages.
#include "backends/host/fmha/host_fmha_reference.hpp"

namespace host_test {
namespace test_host_fmha_pages {

TEST(HostFmhaPages, KeysAndValues) {
  for (const FmhaKv kv : {FmhaKv::block_table, FmhaKv::page_list})
    for (const DType type : {DType::fp16, DType::bf16})
      for (const int page : {1, 7, 16, 128}) {
        SCOPED_TRACE(page);
        FmhaTraits traits;
        traits.kv = kv;
        traits.masked = traits.lse = true;
        FmhaShape shape = fmha_shape(3, 4, 2, 3, 150, 32, 48);
        shape.page_size = page;
        FmhaCase c = fmha_case(type, type, type, traits, shape);
        if (kv == FmhaKv::block_table) c.used_k = {150, 0, 81};
        expect_right(c);
      }
}

// Neighbouring keys lie in two pages, or in two tiles.
TEST(HostFmhaPages, OddPagesAndTiles) {
  for (const DType kv : {DType::bf16, DType::fp8_ocp})
    for (const int rows : {3, 40})
      for (const auto& [page, n0] : {std::pair{1, 64}, std::pair{7, 33}, std::pair{16, 33}}) {
        SCOPED_TRACE(testing::Message() << name(kv) << " rows " << rows << " pages of " << page << " n0 " << n0);
        FmhaTraits traits;
        traits.kv = FmhaKv::block_table;
        traits.masked = true;
        FmhaShape shape = fmha_shape(2, 4, 2, rows, 150, 32, 48);
        shape.page_size = page;
        FmhaCase c = fmha_case(DType::bf16, kv, DType::bf16, traits, shape);
        if (kv != DType::bf16) c.signature.fmha.quant = FmhaQuant::kv_blockscale;
        c.used_k = {150, 81};
        c.n0 = n0;
        expect_right(c);
      }
}

TEST(HostFmhaPages, BehindQueriesOfUnequalLengths) {
  for (const FmhaKv kv : {FmhaKv::block_table, FmhaKv::page_list})
    for (const int rows : {1, 40}) {
      FmhaTraits traits;
      traits.kv = kv;
      traits.varlen = traits.masked = traits.lse = true;
      FmhaShape shape = fmha_shape(3, 4, 2, rows, 90, 32, 48);
      shape.page_size = 16;
      FmhaCase c = fmha_case(DType::bf16, DType::bf16, DType::bf16, traits, shape);
      c.rows_q = {rows, 1, 0}, c.rows_k = {90, 0, 40};
      if (kv == FmhaKv::block_table) c.used_k = {90, 0, 40};
      expect_right(c);
    }
}

TEST(HostFmhaPages, Descales) {
  for (const DType q : {DType::bf16, DType::fp16, DType::fp8_ocp})
    for (const int rows : {1, 40}) {
      FmhaTraits traits;
      traits.kv = FmhaKv::block_table;
      traits.quant = FmhaQuant::kv_blockscale;
      traits.lse = true;
      FmhaShape shape = fmha_shape(2, 4, 2, rows, 90, 32, 48);
      shape.page_size = 16;
      FmhaCase c = fmha_case(q, DType::fp8_ocp, q == DType::fp8_ocp ? DType::fp32 : q, traits, shape);
      c.used_k = {90, 33};
      expect_right(c);
    }
}

FmhaCase vectors(DType q, DType kv, FmhaKv table, int rows, int page_size) {
  FmhaTraits traits;
  traits.kv = table;
  traits.kv_layout = FmhaKvLayout::vectorized;
  traits.masked = traits.lse = true;
  FmhaShape shape = fmha_shape(3, 4, 2, rows, 150, 32, 40);
  shape.page_size = page_size;
  FmhaCase c = fmha_case(q, kv, q, traits, shape);
  if (table == FmhaKv::block_table) c.used_k = {150, 0, 81};
  return c;
}

TEST(HostFmhaPages, Vectors) {
  const std::pair<DType, DType> types[] = {{DType::fp32, DType::fp32},
                                           {DType::bf16, DType::bf16},
                                           {DType::bf16, DType::fp8_ocp},
                                           {DType::fp16, DType::bf8_fnuz}};
  for (const auto& [q, kv] : types)
    for (const FmhaKv table : {FmhaKv::block_table, FmhaKv::page_list})
      for (const auto& [rows, page_size] : {std::pair{1, 16}, std::pair{35, 48}, std::pair{2, 2048}}) {
        if (page_size == 2048 && (q != DType::bf16 || table == FmhaKv::page_list)) continue;
        SCOPED_TRACE(testing::Message() << name(q) << " " << name(kv) << " rows " << rows << " page " << page_size);
        FmhaCase c = vectors(q, kv, table, rows, page_size);
        if (q != kv) c.signature.fmha.quant = FmhaQuant::kv_blockscale;
        c.n0 = rows == 2 ? 30 : 64;  // tiles that begin within a vector
        expect_right(c);
      }
}

TEST(HostFmhaPages, TheSmallestVectors) {
  for (const auto& [type, page_size] : {std::pair{DType::fp32, 4}, std::pair{DType::bf16, 8}})
    expect_right(vectors(type, type, FmhaKv::page_list, 3, page_size));
}

// The bits are those of rows: how pages are laid out has no part in the arithmetic.
void expect_bits_of_rows(DType kv, int rows) {
  FmhaCase c = vectors(DType::bf16, kv, FmhaKv::block_table, rows, 16);
  if (kv != DType::bf16) c.signature.fmha.quant = FmhaQuant::per_tensor;
  c.shape.seqlen_k = 600, c.used_k = {600, 0, 281};
  FmhaFixture one(c);
  c.signature.fmha.kv_layout = FmhaKvLayout::linear;
  FmhaFixture other(c);
  for (std::int64_t b = 0; b < c.shape.batch; ++b)
    for (std::int64_t j = 0; j < one.length(b, false); ++j)
      for (std::int64_t head = 0; head < c.shape.heads_k; ++head) {
        for (std::int64_t d = 0; d < c.shape.hdim_q; ++d)
          write(kv, other.k.data(), other.key(b, head, j, d),
                static_cast<float>(read(kv, one.k.data(), one.key(b, head, j, d))));
        for (std::int64_t d = 0; d < c.shape.hdim_v; ++d)
          write(kv, other.v.data(), other.value(b, head, j, d),
                static_cast<float>(read(kv, one.v.data(), one.value(b, head, j, d))));
      }
  ASSERT_TRUE(one.run().ok());
  ASSERT_TRUE(other.run().ok());
  EXPECT_EQ(one.o, other.o);
  EXPECT_EQ(one.lse, other.lse);
}

TEST(HostFmhaPages, VectorsGiveTheBitsOfRows) {
  for (const DType kv : {DType::bf16, DType::fp8_ocp})
    for (const int rows : {1, 35}) expect_bits_of_rows(kv, rows);
}

TEST(HostFmhaPages, RowsOfPagesOfOneNeedNoDistance) {
  for (const int rows : {1, 40}) {
    FmhaTraits traits;
    traits.kv = FmhaKv::block_table;
    FmhaShape shape = fmha_shape(2, 4, 2, rows, 50, 32, 48);
    shape.page_size = 1;
    FmhaCase c = fmha_case(DType::bf16, DType::bf16, DType::bf16, traits, shape);
    c.used_k = {50, 33};
    FmhaFixture f(c);
    f.args.k_strides.row = f.args.v_strides.row = 0;
    ASSERT_TRUE(f.run().ok());
    expect_right(f);
  }
}

TEST(HostFmhaPages, AnyDistanceAndAnUnknownNumber) {
  for (const int rows : {1, 40}) {
    FmhaTraits traits;
    traits.kv = FmhaKv::block_table;
    FmhaShape shape = fmha_shape(2, 4, 2, rows, 90, 32, 48);
    shape.page_size = 16;
    FmhaCase c = fmha_case(DType::bf16, DType::bf16, DType::bf16, traits, shape);
    c.used_k = {90, 33};
    c.page_gap = 24;  // no whole rows
    FmhaFixture f(c);
    ASSERT_TRUE(f.run().ok());
    expect_right(f);
    f.c.shape.pages = 0;
    ASSERT_TRUE(f.run().ok());
    expect_right(f);
    f.table[1] = -1;
    EXPECT_EQ(f.run().code, StatusCode::invalid_argument);
  }
}

TEST(HostFmhaPages, WhatIsNoWholeVectorIsRefused) {
  FmhaCase c = vectors(DType::bf16, DType::bf16, FmhaKv::page_list, 1, 16);
  FmhaFixture f(c);
  f.c.shape.page_size = 12;
  EXPECT_EQ(f.run().code, StatusCode::unsupported);
  f.c.shape.page_size = 16, f.c.shape.hdim_q = 36;
  const Status refused = f.run();
  EXPECT_STREQ(refused.message, "hdim_q=36 or page_size=16 is not whole vectors of 8");
  if (host::isa_available(Isa::x86_64_v4_bf16)) {
    f.c.isa = Isa::x86_64_v4_bf16, f.c.shape.hdim_q = 32, f.c.n0 = 31;
    EXPECT_STREQ(f.run().message, "pages in vectors need an even n0");
  }
}

}  // namespace test_host_fmha_pages
}  // namespace host_test
