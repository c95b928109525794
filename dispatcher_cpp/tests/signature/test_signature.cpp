// Signatures as text and as keys: both round trip, aliases mean what the tables' modules mean.
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <tuple>

#include <ckgen/ckgen.hpp>

#include "src/signature/key.hpp"

namespace test_signature {

using namespace ckgen;

std::string canonical(std::string_view text) {
  const auto parsed = parse_signature(text);
  if (!parsed) return std::string("error: ") + parsed.status().message;
  char out[kSignatureTextSize];
  return {out, canonical_text(*parsed, out)};
}

TEST(SignatureText, AliasesHaveACanonicalName) {
  EXPECT_EQ(canonical("a8w8:int8"), "gemm_int8_bf16_rcr_rowwise");
  EXPECT_EQ(canonical("a8w8:fp8:fp16"), "gemm_fp8_fp16_rcr_rowwise");
  EXPECT_EQ(canonical("a8w8_blockscale"), "gemm_fp8_bf16_rcr_blockscale");
  EXPECT_EQ(canonical("a8w8_bpreshuffle:int8"), "gemm_int8_bf16_rcr_rowwise_preshuffle");
  EXPECT_EQ(canonical("a4w4_blockscale"), "gemm_fp4_bf16_rcr_mx_preshuffle");
  EXPECT_EQ(canonical("batched_bf16"), "gemm_bf16_rcr_batched");
  EXPECT_EQ(canonical("fp16:crr:bias"), "gemm_fp16_crr_bias");
  EXPECT_EQ(canonical("int8"), "gemm_int8_int32_rcr");
  EXPECT_EQ(canonical("fp8_ocp"), "gemm_fp8_ocp_bf16_rcr");
  EXPECT_EQ(canonical("mxfp8:bf8_ocp"), "gemm_bf8_ocp_bf16_rcr_mx");
}

TEST(SignatureText, GroupsAndExpertsHaveAliasesOfTheirOwn) {
  EXPECT_EQ(canonical("grouped:a8w8_blockscale"), "grouped_gemm_fp8_bf16_rcr_blockscale");
  EXPECT_EQ(canonical("grouped:fp16:crr:bias"), "grouped_gemm_fp16_crr_bias");
  EXPECT_EQ(canonical("moe:bf16:gated:silu"), "moe_bf16_rcr_layer_gated_epi_silu");
  EXPECT_EQ(canonical("moe:mxfp8:gate_up:gated:weightfirst:gelu"),
            "moe_fp8_ocp_bf16_rcr_mx_gate_up_gated_weightfirst_epi_gelu");
  EXPECT_EQ(canonical("moe:a8w8:int8:down"), "moe_int8_bf16_rcr_rowwise_down");
}

TEST(SignatureText, CanonicalNamesRoundTrip) {
  for (const char* text :
       {"gemm_fp16_rcr", "gemm_fp8_bf8_bf16_rcr_blockscale", "gemm_fp8_ocp_bf8_ocp_fp16_rcr", "gemm_fp16_rcr_acc_fp16",
        "gemm_int8_bf16_rcr_rowwise_preshuffle_bias", "gemm_int8_fp16_rcr_rowwise_batched_scale_bf16",
        "gemm_fp32_ccr_batched_acc_fp64", "gemm_bf16_rcr_per_tensor", "grouped_gemm_fp16_rrr_bias_epi_add_relu",
        "moe_fp8_ocp_fp4_bf16_rcr_mx_down", "moe_bf16_rcr_preshuffle_gate_up_weightfirst_epi_relu"}) {
    EXPECT_EQ(canonical(text), text);
  }
}

TEST(SignatureText, AnythingElseIsRefused) {
  for (const char* text : {"",
                           "gemm",
                           "gemm_",
                           "gemm_fp16",
                           "gemm_fp16_fp16_rcr",
                           "gemm_fp16_rcr_",
                           "gemm_fp16_rcr_bias_batched",
                           "gemm_fp16_rcr_acc",
                           "gemm_fp16_rcr_acc_fp32",
                           "gemm_fp16_rcr_rowwise",
                           "gemm_fp8_fp16_rrr_rowwise",
                           "a8w8",
                           "a8w8:bf16",
                           "a8w8:int8:int8",
                           "a8w8:int8:",
                           "a8w8_blockscale:int8",
                           "fp16:rcr:rrr",
                           "gemm_fp8_fnuz_fp8_ocp_bf16_rcr",
                           "moe_bf16_rcr_epi_silu",
                           "moe_bf16_rcr_layer",
                           "moe_bf16_rcr_layer_gated_epi_silu_relu",
                           "moe_bf16_rcr_down_gated",
                           "moe_bf16_rcr_down_epi_silu",
                           "moe_bf16_rrr_layer_epi_silu",
                           "moe_bf16_rcr_batched_layer_epi_silu",
                           "grouped_gemm_bf16_rcr_batched",
                           "grouped_gemm_fp32_rcr_a_add",
                           "grouped:bf16:silu",
                           "moe:bf16",
                           "moe:bf16:silu:gelu",
                           "gemm_fp4_rcr",
                           "nonsense"}) {
    EXPECT_EQ(canonical(text).substr(0, 6), "error:") << text;
  }
}

TEST(SignatureRules, WhatOnlyFieldsCanBreakIsSaidToo) {
  const auto says = [](const char* text, auto change) {
    Signature s = *parse_signature(text);
    change(s);
    return std::string(signature_status(s).message);
  };
  EXPECT_EQ(says("fp16", [](Signature&) {}), "");
  EXPECT_EQ(says("fp16", [](Signature& s) { s.moe.gated = true; }),
            "only an MoE signature has a part, a gate or a routing weight");
  EXPECT_EQ(says("fp16", [](Signature& s) { s.fmha.lse = true; }),
            "only an attention signature has attention's traits");
  EXPECT_EQ(says("fp16", [](Signature& s) { s.epilogue.ops[1] = EpilogueOp::relu; }), "an epilogue with a gap");
  EXPECT_EQ(says("fmha:bf16", [](Signature& s) { s.bias = true; }),
            "an attention signature accumulates in fp32 and has no fields of a GEMM");
  EXPECT_EQ(says("fmha:bf16", [](Signature& s) { s.moe.part = MoePart::down; }),
            "an attention signature accumulates in fp32 and has no fields of a GEMM");
  EXPECT_EQ(says("a8w8_blockscale", [](Signature& s) { s.scale_block = {ScaleSides::b, 3, 128}; }),
            "no scale block of b 3x128: rows of B are 128, 64, 32, 16, 8, 1, elements along K 128, 64, 32, 16");
  EXPECT_EQ(says("fp16", [](Signature& s) { s.layout = static_cast<Layout>(4); }),
            "4 is no value of the signature's layout");
  EXPECT_EQ(says("fp16", [](Signature& s) { s.op = static_cast<Op>(0xff); }), "255 is no value of the signature's op");
}

/// Every member, and no more than that: operator== compares keys.
auto members(const Signature& s) {
  const FmhaTraits& f = s.fmha;
  return std::tuple(s.op, std::array{s.a, s.b, s.c, s.acc, s.scale}, s.layout, s.quant, s.preshuffle_b, s.batched,
                    s.bias, std::to_array(s.epilogue.ops), s.a_op, s.b_op,
                    std::tuple(s.scale_block.sides, s.scale_block.n, s.scale_block.k),
                    std::tuple(s.moe.part, s.moe.gated, s.moe.weight_first),
                    std::tuple(f.entry, f.varlen, f.v_column, f.masked, f.bias, f.softcap, f.sink, f.lse, f.dropout,
                               f.quant, f.kv, f.kv_layout, f.rope));
}

/// Any signature whose members are values of their types, whether it means something or not.
class Drawn {
 public:
  Signature signature() {
    Signature s;
    draw(s.op, Op::fmha);
    for (DType* const type : {&s.a, &s.b, &s.c, &s.acc, &s.scale}) draw(*type, DType::none);
    if (s.op == Op::fmha) {
      s.fmha = traits();
      return s;
    }
    draw(s.layout, Layout::crr);
    draw(s.quant, Quant::mx);
    for (bool* const flag : {&s.preshuffle_b, &s.batched, &s.bias}) *flag = below(2) != 0;
    for (EpilogueOp& op : s.epilogue.ops) draw(op, EpilogueOp::scale);
    draw(s.scale_block.sides, ScaleSides::b);
    s.scale_block.n = kScaleBlockN[below(std::size(kScaleBlockN))];
    s.scale_block.k = kScaleBlockK[below(std::size(kScaleBlockK))];
    if (s.op == Op::moe) {
      draw(s.moe.part, MoePart::down);
      for (bool* const flag : {&s.moe.gated, &s.moe.weight_first}) *flag = below(2) != 0;
    } else {
      draw(s.a_op, OperandOp::mul);
      draw(s.b_op, OperandOp::mul);
    }
    return s;
  }

 private:
  FmhaTraits traits() {
    FmhaTraits f;
    draw(f.entry, FmhaEntry::backward);
    for (bool* const flag : {&f.varlen, &f.v_column, &f.masked, &f.softcap, &f.sink, &f.lse}) *flag = below(2) != 0;
    draw(f.bias, FmhaBias::alibi);
    draw(f.dropout, FmhaDropout::randval);
    draw(f.quant, FmhaQuant::kv_blockscale);
    draw(f.kv, FmhaKv::page_list);
    draw(f.kv_layout, FmhaKvLayout::vectorized);
    draw(f.rope, FmhaRope::half);
    return f;
  }
  template <class Enum>
  void draw(Enum& out, Enum last) {
    out = static_cast<Enum>(below(static_cast<std::size_t>(last) + 1));
  }
  std::size_t below(std::size_t count) { return std::uniform_int_distribution<std::size_t>(0, count - 1)(random_); }

  std::mt19937_64 random_{20};
};

TEST(SignatureKey, EverySignatureComesBackFromItsKey) {
  Drawn drawn;
  for (int i = 0; i < 20000; ++i) {
    const Signature s = drawn.signature();
    ASSERT_EQ(s.pack() >> key_bits::signature, 0U);
    ASSERT_TRUE(members(detail::unpack(s.pack())) == members(s)) << std::hex << s.pack();
  }
}

TEST(SignatureKey, OfBitsBeyondThoseOfAKeyNoSignatureComesBack) {
  Drawn drawn;
  for (int i = 0; i < 1000; ++i) {
    const Signature s = drawn.signature();
    for (int bit = key_bits::signature; bit < 64; ++bit) {
      const std::uint64_t key = s.pack() | std::uint64_t{1} << bit;
      ASSERT_FALSE(detail::unpack(key) == s) << std::hex << key;
    }
  }
}

}  // namespace test_signature
