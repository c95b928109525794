// Attention over the C API: names of signatures and their numbers are inverse.
#include <cstdint>
#include <string>

#include <ckgen/c_api.h>

#include "fmha/fmha_fixture.hpp"

namespace test_c_api_fmha_signature {

class CApiFmhaSignature : public ::testing::Test {
 protected:
  ckgen_message message() { return {text, sizeof text}; }

  char text[512] = {};
};

TEST_F(CApiFmhaSignature, NumbersOfSignaturesAreInverse) {
  for (const char* name :
       {"fmha_bf16", "fmha_bf16_append", "fmha_bf16_varlen", "fmha_fp32_vcolumn", "fmha_bf16_masked",
        "fmha_bf16_softcap", "fmha_bf16_sink", "fmha_bf16_lse", "fmha_fp16_varlen_masked_alibi_sink_lse_dropout",
        "fmha_fp8_ocp_bf16_softcap_randval_blockscale", "fmha_bf16_fp8_bf16_kvblockscale_pagelist_vectorized",
        "fmha_fp16_append_blocktable_rope_interleaved", "fmha_fp16_append_rope_half",
        "fmha_bf16_bwd_varlen_masked_sink"}) {
    std::uint64_t number = 0;
    ASSERT_EQ(ckgen_parse_signature(name, &number, message()), CKGEN_OK) << text;
    ASSERT_EQ(ckgen_signature_text(number, message()), CKGEN_OK) << text;
    EXPECT_STREQ(text, name);
  }
}

TEST_F(CApiFmhaSignature, NumbersThatAreNoSignatureAreNotTakenForOne) {
  const std::uint64_t number = tiny::attention().pack();
  for (int bit = 0; bit < 64; ++bit) {
    const std::uint64_t other = number ^ std::uint64_t{1} << bit;
    if (ckgen_signature_text(other, message()) != CKGEN_OK) continue;
    const std::string name(text);
    std::uint64_t again = other;
    if (ckgen_parse_signature(name.c_str(), &again, message()) != CKGEN_OK) continue;
    EXPECT_EQ(again, other) << bit << name;
  }
  // The fields of other ops, values that are no enum's, and what is beyond all fields.
  for (const std::uint64_t wrong :
       {1ULL, 0x200ULL, 3ULL << 38, 3ULL << 41, 3ULL << 45, 3ULL << 47, 3ULL << 55, 1ULL << 57})
    EXPECT_EQ(ckgen_signature_text(number | wrong, message()), CKGEN_INVALID_ARGUMENT) << std::hex << wrong;
}

}  // namespace test_c_api_fmha_signature
