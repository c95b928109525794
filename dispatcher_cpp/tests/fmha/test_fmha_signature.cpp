// Attention signatures: canonical names round trip and are injective, and what means nothing is refused.
#include <gtest/gtest.h>

#include <string>
#include <unordered_set>
#include <vector>

#include <ckgen/ckgen.hpp>

namespace test_fmha_signature {

using namespace ckgen;

constexpr Signature bf16{Op::fmha, DType::bf16, DType::bf16, DType::bf16};

std::string text_of(const Signature& s) {
  char out[kSignatureTextSize];
  return {out, canonical_text(s, out)};
}

std::string canonical(std::string_view text) {
  const auto parsed = parse_signature(text);
  return parsed ? text_of(*parsed) : std::string("error: ") + parsed.status().message;
}

/// Every value of every field, most of them without a meaning.
std::vector<FmhaTraits> all_traits() {
  std::vector<FmhaTraits> all;
  for (unsigned bits = 0; bits < 1U << 19; ++bits) {
    auto next = [rest = bits](unsigned count) mutable {
      const unsigned field = rest & ((1U << count) - 1);
      rest >>= count;
      return field;
    };
    FmhaTraits t;
    const unsigned entry = next(2);
    t.entry = static_cast<FmhaEntry>(entry);
    t.varlen = next(1) != 0;
    t.v_column = next(1) != 0;
    t.masked = next(1) != 0;
    t.softcap = next(1) != 0;
    t.sink = next(1) != 0;
    t.lse = next(1) != 0;
    t.kv_layout = static_cast<FmhaKvLayout>(next(1));
    const unsigned bias = next(2), dropout = next(2), quant = next(2), kv = next(2), rope = next(2);
    if (entry > 2 || bias > 2 || dropout > 2 || kv > 2 || rope > 2) continue;
    t.bias = static_cast<FmhaBias>(bias);
    t.dropout = static_cast<FmhaDropout>(dropout);
    t.quant = static_cast<FmhaQuant>(quant);
    t.kv = static_cast<FmhaKv>(kv);
    t.rope = static_cast<FmhaRope>(rope);
    all.push_back(t);
  }
  return all;
}

TEST(FmhaSignature, NamesAndNumbersOfAllTraitsAreInjective) {
  std::unordered_set<std::string> names;
  std::unordered_set<std::uint64_t> numbers;
  std::size_t legal = 0;
  const std::vector<FmhaTraits> all = all_traits();
  for (const FmhaTraits& traits : all) {
    Signature s = bf16;
    s.fmha = traits;
    const std::string text = text_of(s);
    names.insert(text);
    numbers.insert(s.pack());
    const auto parsed = parse_signature(text);
    ASSERT_EQ(static_cast<bool>(parsed), signature_status(s).ok()) << text;
    if (!parsed) continue;
    ++legal;
    ASSERT_TRUE(*parsed == s) << text;
  }
  EXPECT_EQ(names.size(), all.size());
  EXPECT_EQ(numbers.size(), all.size());
  // Contiguous KV with V in rows or columns, or pages of two kinds in two layouts; bias and softcap in four ways.
  constexpr std::size_t places = 2 + 2 * 2, scores = 4, forward = 2 * places * 2 * scores * 2 * 2 * 3;
  constexpr std::size_t append = 2 * places * 3;  // three rotations
  constexpr std::size_t backward = 2 * 2 * scores * 2 * 3;
  EXPECT_EQ(legal, forward + append + backward);
}

TEST(FmhaSignature, TypesAreOneTwoOrThreeWords) {
  for (const char* text :
       {"fmha_fp32", "fmha_bf16_varlen_masked_lse", "fmha_fp8_bf16_masked_pertensor", "fmha_fp8_ocp_fp32_blockscale",
        "fmha_bf8_fnuz_pertensor", "fmha_bf16_fp8_fnuz_bf16_kvblockscale_blocktable_vectorized",
        "fmha_fp16_append_pagelist_rope_half", "fmha_bf16_bwd_varlen_masked_dropout"}) {
    EXPECT_EQ(canonical(text), text);
  }
  const Signature mixed = *parse_signature("fmha_bf16_fp8_bf16_pertensor");
  EXPECT_EQ(mixed.a, DType::bf16);
  EXPECT_EQ(mixed.b, DType::fp8);
  EXPECT_EQ(mixed.c, DType::bf16);
  EXPECT_EQ(mixed.acc, DType::fp32);
  EXPECT_EQ(mixed.scale, DType::none);
}

TEST(FmhaSignature, AnAliasIsTheNameBehindAColon) {
  EXPECT_EQ(canonical("fmha:bf16_masked_lse"), "fmha_bf16_masked_lse");
  for (const char* text : {"bf16_masked_lse", "fmha:bf16_masked_lse", "fmha_bf16_masked_lse"}) {
    const Problem problem = fmha(text);
    ASSERT_TRUE(problem.status().ok()) << problem.status().message;
    EXPECT_EQ(text_of(problem.signature()), "fmha_bf16_masked_lse");
  }
  EXPECT_FALSE(fmha("bf16_rcr").status().ok());
  EXPECT_FALSE(fmha(std::string(400, 'x')).status().ok());
}

TEST(FmhaSignature, OtherTextsAreRefused) {
  for (const char* text : {"fmha", "fmha_", "fmha:", "fmha_bf16_", "fmha_bf16_rcr", "fmha_bf16_lse_masked",
                           "fmha_bf16_bf16", "fmha_bf16_bf16_bf16", "fmha_bf16_masked_masked", "fmha_bf16_none",
                           "fmha_bf16_rope", "fmha:fmha_bf16", "fmha:bf16:masked"}) {
    EXPECT_EQ(canonical(text).substr(0, 14), "error: unknown") << text << ": " << canonical(text);
  }
}

TEST(FmhaSignature, CombinationsWithoutAMeaningSayWhy) {
  const auto why = [](std::string_view text) {
    const std::string said = canonical(text);
    const std::size_t at = said.find("means nothing: ");
    return at == std::string::npos ? said : said.substr(at + 15);
  };
  EXPECT_EQ(why("fmha_int8"), "Q cannot be int8");
  EXPECT_EQ(why("fmha_bf16_fp16_bf16"), "K and V cannot be fp16 beside Q of bf16");
  EXPECT_EQ(why("fmha_fp32_fp8_fp32_pertensor"), "K and V cannot be fp8 beside Q of fp32");
  EXPECT_EQ(why("fmha_fp8_int8_pertensor"), "O cannot be int8");
  EXPECT_EQ(why("fmha_bf16_fp32"), "O of Q in bf16 is not fp32");
  EXPECT_EQ(why("fmha_bf16_pertensor"), "8-bit types have descales, and others none");
  EXPECT_EQ(why("fmha_fp8"), "8-bit types have descales, and others none");
  EXPECT_EQ(why("fmha_bf16_rope_half"), "only append rotates");
  EXPECT_EQ(why("fmha_bf16_append_masked"), "append has no use for a mask");
  EXPECT_EQ(why("fmha_bf16_append_alibi"), "append has no use for a bias");
  EXPECT_EQ(why("fmha_bf16_append_softcap"), "append has no use for softcap");
  EXPECT_EQ(why("fmha_bf16_append_sink"), "append has no use for a sink");
  EXPECT_EQ(why("fmha_bf16_append_lse"), "append has no use for lse");
  EXPECT_EQ(why("fmha_bf16_append_dropout"), "append has no use for dropout");
  EXPECT_EQ(why("fmha_bf16_vectorized"), "only pages are vectorized");
  EXPECT_EQ(why("fmha_fp8_kvblockscale"), "only pages have descales of their own");
  EXPECT_EQ(why("fmha_bf16_vcolumn_blocktable"), "pages say where V lies");
  EXPECT_EQ(why("fmha_bf16_elementwise_softcap"), "softcap goes without a bias");
}

TEST(FmhaSignature, FieldsOfOtherOpsAreRefused) {
  const auto refused = [](auto change) {
    Signature s = bf16;
    change(s);
    return !signature_status(s).ok();
  };
  EXPECT_FALSE(refused([](Signature&) {}));
  EXPECT_TRUE(refused([](Signature& s) { s.acc = DType::fp64; }));
  EXPECT_TRUE(refused([](Signature& s) { s.scale = DType::fp32; }));
  EXPECT_TRUE(refused([](Signature& s) { s.layout = Layout::ccr; }));
  EXPECT_TRUE(refused([](Signature& s) { s.quant = Quant::rowwise; }));
  EXPECT_TRUE(refused([](Signature& s) { s.preshuffle_b = true; }));
  EXPECT_TRUE(refused([](Signature& s) { s.batched = true; }));
  EXPECT_TRUE(refused([](Signature& s) { s.bias = true; }));
  EXPECT_TRUE(refused([](Signature& s) { s.epilogue.ops[0] = EpilogueOp::relu; }));
  EXPECT_TRUE(refused([](Signature& s) { s.a_op = OperandOp::add; }));
  EXPECT_TRUE(refused([](Signature& s) { s.scale_block.k = 32; }));
  EXPECT_TRUE(refused([](Signature& s) { s.moe.gated = true; }));
  Signature gemm{Op::gemm, DType::bf16, DType::bf16, DType::bf16};
  gemm.fmha.lse = true;
  EXPECT_FALSE(signature_status(gemm).ok());
}

}  // namespace test_fmha_signature
