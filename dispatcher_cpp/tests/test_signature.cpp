// Signatures as text: canonical names round trip, aliases mean what the tables' modules mean.
#include <gtest/gtest.h>

#include <string>

#include <ckgen/ckgen.hpp>

namespace {

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

TEST(SignatureText, APackedSignatureIsInjective) {
  const Signature one{};
  Signature other = one;
  other.scale = DType::fp32;
  EXPECT_NE(one.pack(), other.pack());
}

}  // namespace
