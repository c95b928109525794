// Texts and numbers of signatures: what means something is printed, and read back as the same.
#include <ckgen/c_api.h>
#include <ckgen/signature_text.hpp>

#include "fuzz.hpp"

namespace fuzz::fuzz_signature_text {
namespace {

void check_text(const std::string& text) {
  char name[256] = {}, again[256] = {};
  std::uint64_t number = 0, same = 0;
  if (ckgen_parse_signature(text.c_str(), &number, {name, sizeof name}) != CKGEN_OK) {
    expect(name[0] != '\0', "a refused text has a reason");
    return;
  }
  expect(ckgen_signature_text(number, {name, sizeof name}) == CKGEN_OK, "a signature has a text");
  expect(ckgen_parse_signature(name, &same, {again, sizeof again}) == CKGEN_OK, "a canonical text is read");
  expect(number == same, "a canonical text means the same");
}

void check_number(std::uint64_t number) {
  char name[256] = {}, again[256] = {};
  std::uint64_t same = 0;
  if (ckgen_signature_text(number, {name, sizeof name}) != CKGEN_OK) return;
  const bool means = ckgen_parse_signature(name, &same, {again, sizeof again}) == CKGEN_OK;
  expect(!means || same == number, "the text of a number means that number");
}

void run(Bytes bytes) {
  check_text(std::string(text_of(bytes)));
  static_cast<void>(ckgen::parse_signature(text_of(bytes)));  // with NUL bytes in it
  check_number(Draw(bytes).raw<std::uint64_t>());
}

std::vector<std::string> seeds() {
  return {"gemm_fp16_rcr",
          "gemm_fp8_bf16_rcr_blockscale_preshuffle_batched_bias_acc_fp32_scale_fp32",
          "gemm_bf16_rcr_scales_both_1x128_a_silu_b_relu_epi_add_relu",
          "grouped_gemm_fp16_rcr",
          "moe_bf16_rcr_gate_up_gated_weightfirst_epi_silu",
          "fmha_bf16_fp8_fnuz_bf16_varlen_masked_sink_lse_kvblockscale_blocktable",
          "fmha_fp16_append_ropehalf",
          "a8w8:int8:fp16:bias",
          "grouped:a8w8_blockscale:fp8",
          "moe:bf16:gate_up:gated:silu"};
}

}  // namespace

const Target signature_text{"signature_text", run, seeds};

}  // namespace fuzz::fuzz_signature_text
