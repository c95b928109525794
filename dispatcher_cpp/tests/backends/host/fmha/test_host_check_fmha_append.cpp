// What appending to a cache refuses: the sizes of a shape, types and descales, and rows that have no room.
#include "backends/host/fmha/check_append.hpp"
#include "backends/host/fmha/host_fmha_append_fixture.hpp"
#include "backends/host/gemm/gemm.hpp"

#include <functional>
#include <string>

namespace host_test {
namespace test_host_check_fmha_append {

using Change = std::function<void(InstanceDesc&, FmhaShape&)>;

/// Why a changed problem is refused; empty where it is not.
std::string refused(const FmhaTraits& traits, const Change& change, DType type = DType::bf16,
                    DType cache = DType::none) {
  const AppendCase c = append_case(type, traits, cache);
  InstanceDesc desc{};
  desc.signature = c.signature;
  desc.backend = Backend::host;
  FmhaShape shape = c.shape;
  change(desc, shape);
  return host::check_fmha_append(desc, shape).message;
}

struct Bound {
  const char* what;
  std::int64_t value;
  bool legal;
  void (*set)(FmhaShape&, std::int64_t);
};

void expect_bounds(const FmhaTraits& traits, const char* message, std::initializer_list<Bound> bounds) {
  for (const Bound& x : bounds)
    EXPECT_EQ(refused(traits, [&](InstanceDesc&, FmhaShape& shape) { x.set(shape, x.value); }), x.legal ? "" : message)
        << x.what << " " << x.value;
}

constexpr std::int64_t kMost = 0x7fffffff;

#define BOUND(field, value, legal)                                                                          \
  Bound {                                                                                                   \
    #field, value, legal, [](FmhaShape& s, std::int64_t v) { s.field = static_cast<decltype(s.field)>(v); } \
  }

TEST(HostCheckFmhaAppend, SizesHaveTheirRange) {
  expect_bounds(
      {}, "a size of the shape is out of range",
      {BOUND(batch, 0, false), BOUND(batch, 1, true), BOUND(batch, kMost, true), BOUND(batch, kMost + 1, false),
       BOUND(heads_q, 0, false), BOUND(heads_q, 1, true), BOUND(heads_k, 0, false), BOUND(heads_k, 1, true),
       BOUND(hdim_q, 0, false), BOUND(hdim_q, 1, true), BOUND(hdim_q, 256, true), BOUND(hdim_q, 257, false),
       BOUND(hdim_v, 0, false), BOUND(hdim_v, 1, true), BOUND(hdim_v, 256, true), BOUND(hdim_v, 257, false)});
  expect_bounds({}, "a length of the shape is out of range",
                {BOUND(seqlen_k, 4, false), BOUND(seqlen_k, 5, true), BOUND(seqlen_k, kMost, true),
                 BOUND(seqlen_k, kMost + 1, false), BOUND(seqlen_new, -1, false), BOUND(seqlen_new, 0, true),
                 BOUND(seqlen_new, 40, true), BOUND(seqlen_new, 41, false), BOUND(seqlen_q, -1, false),
                 BOUND(seqlen_q, 0, true), BOUND(seqlen_q, 41, true)});
  const auto empty = [](std::int64_t keys) {
    return refused({}, [&](InstanceDesc&, FmhaShape& s) { s.seqlen_new = 0, s.seqlen_k = keys; });
  };
  EXPECT_EQ(empty(0), "");
  EXPECT_NE(empty(-1), "");
}

TEST(HostCheckFmhaAppend, RotationsHaveTheirRange) {
  FmhaTraits traits;
  traits.rope = FmhaRope::half;
  expect_bounds(traits, "rotary_dim or the rows of Q are out of range",
                {BOUND(seqlen_q, 40, true), BOUND(seqlen_q, 41, false), BOUND(rotary_dim, 0, false),
                 BOUND(rotary_dim, 1, false), BOUND(rotary_dim, 2, true), BOUND(rotary_dim, 31, false),
                 BOUND(rotary_dim, 32, true), BOUND(rotary_dim, 34, false)});
  expect_bounds({}, "", {BOUND(rotary_dim, 1, true), BOUND(rotary_dim, 34, true)});
}

TEST(HostCheckFmhaAppend, PagesHaveTheirRange) {
  FmhaTraits traits;
  traits.kv = FmhaKv::block_table;
  expect_bounds(traits, "page_size or pages is out of range",
                {BOUND(page_size, 0, false), BOUND(page_size, 1, true), BOUND(pages, -1, false), BOUND(pages, 0, true),
                 BOUND(pages, kMost, true), BOUND(pages, kMost + 1, false)});
  expect_bounds({}, "", {BOUND(page_size, 0, true), BOUND(pages, -1, true)});
  traits.kv_layout = FmhaKvLayout::vectorized;
  for (const auto& [type, cache, vector] :
       {std::tuple{DType::fp32, DType::fp32, 4}, std::tuple{DType::bf16, DType::bf16, 8},
        std::tuple{DType::bf16, DType::fp8_ocp, 16}}) {
    if (cache == DType::fp8_ocp) traits.quant = FmhaQuant::per_tensor;
    const auto whole = [&, type = type, cache = cache](std::int32_t hdim, std::int32_t rows) {
      return refused(
                 traits, [&](InstanceDesc&, FmhaShape& s) { s.hdim_q = hdim, s.page_size = rows; }, type, cache)
          .empty();
    };
    EXPECT_TRUE(whole(3 * vector, 5 * vector));
    EXPECT_FALSE(whole(3 * vector + vector / 2, 5 * vector));
    EXPECT_FALSE(whole(3 * vector, 5 * vector + vector / 2));
  }
}

TEST(HostCheckFmhaAppend, TypesDescalesAndLevelsHaveKernelsOrAreNamed) {
  const auto with = [](DType a, DType b, DType c, FmhaQuant quant) {
    return refused({}, [&](InstanceDesc& i, FmhaShape&) {
      i.signature.a = a, i.signature.b = b, i.signature.c = c, i.signature.fmha.quant = quant;
    });
  };
  using enum DType;
  for (const DType a : {fp32, fp16, bf16}) {
    EXPECT_EQ(with(a, a, a, FmhaQuant::none), "");
    for (const FmhaQuant quant : {FmhaQuant::per_tensor, FmhaQuant::kv_blockscale, FmhaQuant::blockscale})
      EXPECT_EQ(with(a, a, a, quant), "append has no host kernel for such descales");
    for (const DType b : {fp8_ocp, fp8_fnuz}) {
      EXPECT_EQ(with(a, b, a, FmhaQuant::per_tensor), "");
      EXPECT_EQ(with(a, b, a, FmhaQuant::kv_blockscale), "");
      EXPECT_EQ(with(a, b, a, FmhaQuant::none), "append has no host kernel for such descales");
      EXPECT_EQ(with(a, b, a, FmhaQuant::blockscale), "append has no host kernel for such descales");
    }
  }
  EXPECT_EQ(with(bf16, fp16, bf16, FmhaQuant::none),
            "no host kernel for append of bf16 to a cache of fp16 with O in bf16");
  EXPECT_EQ(with(bf16, bf16, fp32, FmhaQuant::none),
            "no host kernel for append of bf16 to a cache of bf16 with O in fp32");
  EXPECT_EQ(with(int8, int8, int8, FmhaQuant::none),
            "no host kernel for append of int8 to a cache of int8 with O in int8");
  for (int isa = 0; isa < 5; ++isa) {
    const auto level = static_cast<Isa>(isa);
    EXPECT_EQ(refused({}, [&](InstanceDesc& i, FmhaShape&) { i.host_config.isa = level; }).empty(),
              host::isa_available(level));
  }
}

TEST(HostCheckFmhaAppend, NoStrideIsNegative) {
  AppendFixture x(append_case(DType::bf16, {}));
  const std::pair<const char*, FmhaStrides*> all[] = {
      {"q", &x.args.q_strides},       {"o", &x.args.o_strides},         {"k_cache", &x.args.k_strides},
      {"v_cache", &x.args.v_strides}, {"k_new", &x.args.k_new_strides}, {"v_new", &x.args.v_new_strides}};
  for (const auto& [what, strides] : all)
    for (std::int64_t FmhaStrides::* const which : {&FmhaStrides::row, &FmhaStrides::head, &FmhaStrides::batch}) {
      const std::int64_t legal = strides->*which;
      const auto said = [&](std::int64_t value) {
        strides->*which = value;
        return std::string(host::check_fmha_append_args(x.c.signature, x.c.shape, x.args).message);
      };
      EXPECT_EQ(said(-1), std::string("a stride of ") + what + " is negative");
      EXPECT_EQ(said(0), "") << what;
      EXPECT_EQ(said(legal), "");
    }
}

TEST(HostCheckFmhaAppend, WhatHasNoRoomIsRefusedAndNothingWritten) {
  const auto said = [](const FmhaTraits& traits, const std::function<void(AppendFixture&)>& change) {
    AppendFixture one(append_case(DType::bf16, traits));
    change(one);
    const std::string text = one.run().message;
    EXPECT_TRUE(text.empty() || (one.k == one.was_k && one.v == one.was_v)) << text;
    return text;
  };
  FmhaTraits traits;
  EXPECT_EQ(said(traits, [](AppendFixture& x) { x.c.before[1] = 36; }),
            "sequence 1 has 36 rows and 5 more, and the cache has room for 40");
  EXPECT_EQ(said(traits, [](AppendFixture& x) { x.c.before[2] = -1; }), "seqlen_k of sequence 2 is below 0");
  EXPECT_EQ(said(traits, [](AppendFixture& x) { x.args.k_strides.row = -1; }), "a stride of k_cache is negative");
  traits.varlen = true;
  EXPECT_EQ(said(traits, [](AppendFixture& x) { x.starts[3] = 16; }), "sequence 2 has 11 new rows, not within 0 to 5");
  EXPECT_EQ(said(traits, [](AppendFixture& x) { x.starts[1] = -1; }), "seqstart_q falls or starts below 0 at 0");
  EXPECT_EQ(said(traits, [](AppendFixture& x) { x.room[1] = 4; }),
            "sequence 0 has 0 rows and 5 more, and the cache has room for 4");
  EXPECT_EQ(said(traits, [](AppendFixture& x) { x.c.shape.total_q = 7; }),
            "seqstart_q ends at 8, behind the plan's 7 rows");
  traits.varlen = false, traits.kv = FmhaKv::block_table;
  EXPECT_EQ(said(traits, [](AppendFixture& x) { x.table[7] = 11; }), "page 11 is not in 0 .. 10");
  EXPECT_EQ(said(traits, [](AppendFixture& x) { x.table[8] = 11; }), "") << "no new row is there";
  traits.kv = FmhaKv::page_list;
  EXPECT_EQ(said(traits, [](AppendFixture& x) { x.last_page[0] = 4; }),
            "the pages of sequence 0 hold 4 rows, 5 are new");
  EXPECT_EQ(said(traits, [](AppendFixture& x) { x.last_page[0] = 17; }),
            "kv_last_page of sequence 0 is 17, not in 1 .. 16");
  traits.kv_layout = FmhaKvLayout::vectorized;
  EXPECT_EQ(said(traits, [](AppendFixture& x) { x.c.shape.page_size = 12; }),
            "hdim_q=32 or page_size=12 is not whole vectors of 8");
  traits.kv = FmhaKv::block_table, traits.kv_layout = FmhaKvLayout::linear;
  const char* const many = "a sequence has more pages than a row of block_table";
  for (const std::int64_t sequences : {1, 2, 3})
    EXPECT_EQ(said(traits,
                   [&](AppendFixture& x) {
                     x.c.shape.batch = sequences;
                     x.c.before = {35, 35, 0};
                     x.args.block_table_stride = 2;  // 40 rows are 3 pages
                   }),
              sequences > 1 ? many : "");
  EXPECT_EQ(said(traits, [](AppendFixture& x) { x.table[0] = -1; }), "page -1 is not in 0 .. 10");
}

}  // namespace test_host_check_fmha_append
}  // namespace host_test
