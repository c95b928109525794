// What a run of attention is given: all that its signature needs, nothing that it would drop, and memory that holds it.
#include <cmath>
#include <limits>
#include <vector>

#include "fmha/fmha_fixture.hpp"

namespace test_fmha_args {

using namespace ckgen;
using tiny::attention;
using tiny::padded;
using tiny::sizes;

constexpr std::int64_t kRows = 8, kKeys = 12;
constexpr std::int32_t kHeads = 4, kKvHeads = 2, kHdimQ = 16, kHdimV = 24;

class FmhaArguments : public tiny::FmhaTest {
 protected:
  /// What running `signature` with `change` made to fitting arguments says; empty where it is launched.
  template <class Change>
  std::string refusal(const Signature& signature, Change change, FmhaConfig config = padded(64, 64, 128, 128)) {
    Registry own;
    EXPECT_TRUE(own.add(described(tiny::numbered("kernel", ++count_), config, signature)).ok());
    const Dispatcher runner(own, DispatcherOptions{});
    FmhaShape shape = sizes(2, kHeads, kKvHeads, kRows, kKeys, kHdimQ, kHdimV);
    shape.page_size = 4;
    shape.pages = 6;
    const auto plan = runner.plan(Problem(signature).fmha(shape), device);
    EXPECT_TRUE(plan) << plan.status().message;
    FmhaArgs x = fitting(signature.fmha);
    change(x);
    const int before = seen.launches;
    const Status status = runner.run(*plan, x, nullptr);
    EXPECT_EQ(seen.launches, before + (status.ok() ? 1 : 0)) << "what is refused is not launched";
    return status.message;
  }

  FmhaArgs fitting(const FmhaTraits& traits) {
    const bool is_table = traits.kv == FmhaKv::block_table, is_list = traits.kv == FmhaKv::page_list;
    FmhaArgs x;
    x.q = x.k = x.v = x.o = memory.data();
    x.q_strides = {kHeads * kHdimQ, kHdimQ, kRows * kHeads * kHdimQ};
    x.k_strides = {kHdimQ, kKeys * kHdimQ, kKvHeads * kKeys * kHdimQ};
    x.v_strides = {kHdimV, kKeys * kHdimV, kKvHeads * kKeys * kHdimV};
    if (traits.v_column) x.v_strides = {kKeys, kHdimV * kKeys, kKvHeads * kHdimV * kKeys};
    x.o_strides = {kHeads * kHdimV, kHdimV, kRows * kHeads * kHdimV};
    x.bias_strides = x.rand_val_strides = {kKeys, kRows * kKeys, kHeads * kRows * kKeys};
    if (traits.bias == FmhaBias::alibi) x.bias_strides = {0, 1, 0};
    x.lse_head_stride = traits.varlen ? 2 * kRows : kRows;
    x.lse_batch_stride = kHeads * kRows;
    float* const floats = reinterpret_cast<float*>(memory.data());
    if (traits.lse) x.lse = floats;
    if (traits.bias != FmhaBias::none) x.bias = floats;
    if (traits.sink) x.sink = floats;
    if (traits.dropout == FmhaDropout::randval) x.rand_val = reinterpret_cast<std::uint8_t*>(memory.data());
    if (traits.quant != FmhaQuant::none) x.q_descale = x.k_descale = x.v_descale = floats;
    if (traits.varlen) x.seqstart_q = starts_q.data();
    if (traits.varlen && !is_table && !is_list) x.seqstart_k = starts_k.data();
    if (is_table) x.block_table = pages.data(), x.block_table_stride = 3, x.seqlen_k = lengths.data();
    if (is_list) x.kv_indptr = x.kv_pages = x.kv_last_page = pages.data();
    x.scale = 0.25F;
    if (traits.softcap) x.softcap = 30.0F;
    if (traits.dropout != FmhaDropout::none) x.p_drop = 0.5F;
    return x;
  }
  static constexpr auto nothing = [](FmhaArgs&) {};

  alignas(16) std::vector<char> memory = std::vector<char>(64);
  std::vector<std::int32_t> starts_q{0, 3, 11}, starts_k{0, 12, 20}, lengths{12, 7}, pages{0, 1, 2, 3, 4, 5};

 private:
  std::uint64_t count_ = 0;
};

FmhaTraits with(void (*change)(FmhaTraits&)) {
  FmhaTraits traits;
  change(traits);
  return traits;
}

const FmhaTraits kPlain;
const FmhaTraits kVarlen = with([](FmhaTraits& t) { t.varlen = true; });
const FmhaTraits kTable = with([](FmhaTraits& t) { t.kv = FmhaKv::block_table; });
const FmhaTraits kList = with([](FmhaTraits& t) { t.kv = FmhaKv::page_list; });
const FmhaTraits kAll = with([](FmhaTraits& t) {
  t.masked = t.sink = t.lse = true;
  t.bias = FmhaBias::elementwise;
  t.dropout = FmhaDropout::randval;
});
const FmhaTraits kColumn = with([](FmhaTraits& t) { t.v_column = true; });

Signature quantised(FmhaQuant quant, DType q = DType::fp8_fnuz) {
  Signature s = attention({}, DType::fp8_fnuz);
  s.a = q;
  s.c = DType::bf16;
  s.fmha.quant = quant;
  return s;
}

TEST_F(FmhaArguments, ThatFitAreLaunched) {
  for (const FmhaTraits& traits : {kPlain, kVarlen, kTable, kList, kAll, kColumn})
    EXPECT_EQ(refusal(attention(traits), nothing), "");
  EXPECT_EQ(refusal(quantised(FmhaQuant::per_tensor), nothing), "");
}

TEST_F(FmhaArguments, ThatAreNeededAreAskedFor) {
  EXPECT_EQ(refusal(attention(kPlain), [](FmhaArgs& x) { x.q = nullptr; }), "Q is null");
  EXPECT_EQ(refusal(attention(kPlain), [](FmhaArgs& x) { x.k = nullptr; }), "K is null");
  EXPECT_EQ(refusal(attention(kPlain), [](FmhaArgs& x) { x.v = nullptr; }), "V is null");
  EXPECT_EQ(refusal(attention(kPlain), [](FmhaArgs& x) { x.o = nullptr; }), "O is null");
  EXPECT_EQ(refusal(attention(kAll), [](FmhaArgs& x) { x.lse = nullptr; }), "lse is null");
  EXPECT_EQ(refusal(attention(kAll), [](FmhaArgs& x) { x.bias = nullptr; }), "bias is null");
  EXPECT_EQ(refusal(attention(kAll), [](FmhaArgs& x) { x.sink = nullptr; }), "sink is null");
  EXPECT_EQ(refusal(attention(kAll), [](FmhaArgs& x) { x.rand_val = nullptr; }), "rand_val is null");
  EXPECT_EQ(refusal(attention(kVarlen), [](FmhaArgs& x) { x.seqstart_q = nullptr; }), "seqstart_q is null");
  EXPECT_EQ(refusal(attention(kVarlen), [](FmhaArgs& x) { x.seqstart_k = nullptr; }), "seqstart_k is null");
  EXPECT_EQ(refusal(attention(kTable), [](FmhaArgs& x) { x.block_table = nullptr; }), "block_table is null");
  EXPECT_EQ(refusal(attention(kTable), [](FmhaArgs& x) { x.seqlen_k = nullptr; }), "seqlen_k is null");
  EXPECT_EQ(refusal(attention(kList), [](FmhaArgs& x) { x.kv_indptr = nullptr; }), "kv_indptr is null");
  EXPECT_EQ(refusal(attention(kList), [](FmhaArgs& x) { x.kv_pages = nullptr; }), "kv_pages is null");
  EXPECT_EQ(refusal(attention(kList), [](FmhaArgs& x) { x.kv_last_page = nullptr; }), "kv_last_page is null");
}

TEST_F(FmhaArguments, DescalesAreThoseOfEightBitTypes) {
  const Signature both = quantised(FmhaQuant::per_tensor), cache = quantised(FmhaQuant::blockscale, DType::bf16);
  EXPECT_EQ(refusal(both, [](FmhaArgs& x) { x.q_descale = nullptr; }), "q_descale is null");
  EXPECT_EQ(refusal(both, [](FmhaArgs& x) { x.k_descale = nullptr; }), "k_descale is null");
  EXPECT_EQ(refusal(both, [](FmhaArgs& x) { x.v_descale = nullptr; }), "v_descale is null");
  EXPECT_EQ(refusal(cache, [](FmhaArgs& x) { x.q_descale = nullptr; }), "");
  EXPECT_EQ(refusal(cache, nothing), "q_descale is given, and the plan has no use for it");
}

TEST_F(FmhaArguments, ThatWouldBeDroppedAreRefused) {
  float number = 1;
  std::uint8_t byte = 1;
  std::int32_t length = 1;
  const std::string behind = " is given, and the plan has no use for it";
  const Signature plain = attention(kPlain);
  EXPECT_EQ(refusal(plain, [&](FmhaArgs& x) { x.lse = &number; }), "lse" + behind);
  EXPECT_EQ(refusal(plain, [&](FmhaArgs& x) { x.bias = &number; }), "bias" + behind);
  EXPECT_EQ(refusal(plain, [&](FmhaArgs& x) { x.sink = &number; }), "sink" + behind);
  EXPECT_EQ(refusal(plain, [&](FmhaArgs& x) { x.rand_val = &byte; }), "rand_val" + behind);
  EXPECT_EQ(refusal(plain, [&](FmhaArgs& x) { x.k_descale = &number; }), "k_descale" + behind);
  EXPECT_EQ(refusal(plain, [&](FmhaArgs& x) { x.v_descale = &number; }), "v_descale" + behind);
  EXPECT_EQ(refusal(plain, [&](FmhaArgs& x) { x.seqstart_q = &length; }), "seqstart_q" + behind);
  EXPECT_EQ(refusal(plain, [&](FmhaArgs& x) { x.seqstart_k = &length; }), "seqstart_k" + behind);
  EXPECT_EQ(refusal(plain, [&](FmhaArgs& x) { x.seqlen_q = &length; }), "seqlen_q" + behind);
  EXPECT_EQ(refusal(plain, [&](FmhaArgs& x) { x.block_table = &length; }), "block_table" + behind);
  EXPECT_EQ(refusal(plain, [&](FmhaArgs& x) { x.kv_indptr = &length; }), "kv_indptr" + behind);
  EXPECT_EQ(refusal(plain, [&](FmhaArgs& x) { x.kv_pages = &length; }), "kv_pages" + behind);
  EXPECT_EQ(refusal(plain, [&](FmhaArgs& x) { x.kv_last_page = &length; }), "kv_last_page" + behind);
  EXPECT_EQ(refusal(attention(kList), [&](FmhaArgs& x) { x.seqlen_k = &length; }), "seqlen_k" + behind);
  const FmhaSplitItem item{};
  const FmhaCombineItem combined{};
  EXPECT_EQ(refusal(plain, [&](FmhaArgs& x) { x.split.items = &item; }), "split.items" + behind);
  EXPECT_EQ(refusal(plain, [&](FmhaArgs& x) { x.split.combine_items = &combined; }), "split.combine_items" + behind);
  EXPECT_EQ(refusal(plain, [](FmhaArgs& x) { x.softcap = 2; }),
            "softcap = 2, it must be 0 without softcap in the signature");
  EXPECT_EQ(refusal(plain, [](FmhaArgs& x) { x.p_drop = 0.5F; }),
            "p_drop = 0.5, it must be 0 without dropout in the signature");
}

TEST_F(FmhaArguments, NumbersAreWithinTheirRange) {
  const auto inf = std::numeric_limits<float>::infinity();
  for (const float scale : {0.0F, inf, std::nanf("")})
    EXPECT_NE(refusal(attention(kPlain), [=](FmhaArgs& x) { x.scale = scale; }).find("it must be finite and not 0"),
              std::string::npos);
  EXPECT_EQ(refusal(attention(kPlain), [](FmhaArgs& x) { x.scale = -1; }), "");
  const Signature capped = attention(with([](FmhaTraits& t) { t.softcap = true; }));
  for (const float softcap : {0.0F, -1.0F, inf, std::nanf("")})
    EXPECT_NE(refusal(capped, [=](FmhaArgs& x) { x.softcap = softcap; }).find("it must be finite and above 0"),
              std::string::npos);
  for (const float p_drop : {-0.1F, 1.0F, std::nanf("")})
    EXPECT_NE(refusal(attention(kAll), [=](FmhaArgs& x) { x.p_drop = p_drop; }).find("at least 0 and below 1"),
              std::string::npos);
  EXPECT_EQ(refusal(attention(kAll), [](FmhaArgs& x) { x.p_drop = 0; }), "");
}

TEST_F(FmhaArguments, RowsHoldTheirElements) {
  const Signature plain = attention(kPlain);
  EXPECT_EQ(refusal(plain, [](FmhaArgs& x) { x.q_strides.row = 15; }), "the row stride of Q = 15 is below 16");
  EXPECT_EQ(refusal(plain, [](FmhaArgs& x) { x.q_strides.row = 0; }), "the row stride of Q = 0 is below 16");
  EXPECT_EQ(refusal(plain, [](FmhaArgs& x) { x.k_strides.head = -1; }), "the head stride of K = -1 is below 16");
  EXPECT_EQ(refusal(plain, [](FmhaArgs& x) { x.v_strides.batch = 23; }), "the batch stride of V = 23 is below 24");
  EXPECT_EQ(refusal(plain, [](FmhaArgs& x) { x.k_strides.head = x.v_strides.batch = 0; }), "") << "one for all";
  EXPECT_EQ(refusal(plain, [](FmhaArgs& x) { x.q_strides.batch = std::int64_t{1} << 62; }),
            "Q has more bits than 64-bit integers count");
  EXPECT_EQ(refusal(attention(kColumn), [](FmhaArgs& x) { x.v_strides.row = 11; }),
            "the row stride of V = 11 is below 12");
  EXPECT_EQ(refusal(attention(kAll), [](FmhaArgs& x) { x.bias_strides = {}; }), "") << "one row for all";
  EXPECT_EQ(refusal(attention(kAll), [](FmhaArgs& x) { x.bias_strides.row = 11; }),
            "the row stride of bias = 11 is below 12");
  EXPECT_EQ(refusal(attention(kAll), [](FmhaArgs& x) { x.rand_val_strides.row = 11; }),
            "the row stride of rand_val = 11 is below 12");
  EXPECT_EQ(refusal(attention(kTable), [](FmhaArgs& x) { x.block_table_stride = 2; }),
            "the row stride of block_table = 2 is below 3");
  const Signature sloped = attention(with([](FmhaTraits& t) { t.bias = FmhaBias::alibi; }));
  EXPECT_EQ(refusal(sloped, nothing), "");
  EXPECT_EQ(refusal(sloped, [](FmhaArgs& x) { x.bias_strides.head = -1; }), "the head stride of bias = -1 is below 1");
}

TEST_F(FmhaArguments, WhatIsWrittenDoesNotOverlap) {
  const Signature plain = attention(kPlain);
  EXPECT_EQ(refusal(plain, [](FmhaArgs& x) { x.o_strides = {kHdimV, kRows * kHdimV, kHeads * kRows * kHdimV}; }), "")
      << "heads outside rows";
  EXPECT_EQ(refusal(plain, [](FmhaArgs& x) { x.o_strides.head = 0; }), "the head stride of O = 0 is below 24");
  EXPECT_EQ(refusal(plain, [](FmhaArgs& x) { x.o_strides.row = kHeads * kHdimV - 1; }),
            "the row stride of O = 95 is below 96");
  EXPECT_EQ(refusal(plain, [](FmhaArgs& x) { --x.o_strides.batch; }), "the batch stride of O = 767 is below 768");
  EXPECT_EQ(refusal(attention(kAll), [](FmhaArgs& x) { x.lse_head_stride = 7; }),
            "the head stride of lse = 7 is below 8");
  EXPECT_EQ(refusal(attention(kAll), [](FmhaArgs& x) { x.lse_batch_stride = 31; }),
            "the batch stride of lse = 31 is below 32");
}

TEST_F(FmhaArguments, LengthsFitTheProblem) {
  const Signature varlen = attention(kVarlen);
  const auto of_q = [&](std::vector<std::int32_t> starts) {
    starts_q = std::move(starts);
    return refusal(varlen, nothing);
  };
  EXPECT_EQ(of_q({0, 8, 16}), "");
  EXPECT_EQ(of_q({0, 0, 8}), "") << "a sequence may be empty";
  EXPECT_EQ(of_q({-1, 3, 8}), "seqstart_q[0] = -1 is below 0");
  EXPECT_EQ(of_q({0, 5, 4}), "seqstart_q[2] = 4 is below 5 before it");
  EXPECT_EQ(of_q({0, 9, 10}), "sequence 0 has a seqlen_q of 9, not within 0 to 8");
  EXPECT_EQ(of_q({9, 10, 17}), "seqstart_q ends at 17, behind the plan's 16 rows");
  const auto counted = [&](std::vector<std::int32_t> logical) {
    starts_q = {0, 3, 11};
    return refusal(varlen, [&](FmhaArgs& x) { x.seqlen_q = logical.data(); });
  };
  EXPECT_EQ(counted({3, 0}), "");
  EXPECT_EQ(counted({4, 0}), "sequence 0 has a seqlen_q of 4, not within 0 to 3");
  EXPECT_EQ(counted({3, -1}), "sequence 1 has a seqlen_q of -1, not within 0 to 8");
  starts_k = {0, 13, 14};
  EXPECT_EQ(refusal(varlen, nothing), "sequence 0 has a seqlen_k of 13, not within 0 to 12");
  lengths = {12, 13};
  const auto give = [&](FmhaArgs& x) { x.seqlen_k = lengths.data(); };
  EXPECT_EQ(refusal(attention(kPlain), give), "sequence 1 has a seqlen_k of 13, not within 0 to 12");
  lengths = {0, 12};
  EXPECT_EQ(refusal(attention(kPlain), give), "");
}

TEST_F(FmhaArguments, LengthsOfKeysNeedAnInstanceThatPadsThem) {
  FmhaConfig whole = padded(64, 12, 128, 128);
  whole.pad_k = false;
  EXPECT_EQ(refusal(attention(kPlain), nothing, whole), "");
  EXPECT_EQ(refusal(
                attention(kPlain), [&](FmhaArgs& x) { x.seqlen_k = lengths.data(); }, whole),
            "seqlen_k is given, and kernel2 takes whole tiles of 12 keys only");
}

}  // namespace test_fmha_args
