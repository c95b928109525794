"""Names whose words stand in another order are answered with the right ones."""

from __future__ import annotations

import random

import pytest

from ckgen.families.fmha.signature import parse_canonical as parse_fmha
from ckgen.families.gemm.signature import parse_canonical as parse_gemm
from ckgen.families.gemm.signature import parse_signature
from ckgen.model.errors import UsageError


def said(text: str) -> str:
    with pytest.raises(UsageError) as error:
        parse_fmha(text) if text.startswith("fmha") else parse_signature(text, None)
    return str(error.value).partition(" (")[0]


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("gemm_rcr_bf16", "gemm_bf16_rcr"),
        ("gemm_bf16_rowwise_rcr", "gemm_bf16_rcr_rowwise"),
        ("gemm_fp16_rcr_bias_batched", "gemm_fp16_rcr_batched_bias"),
        ("gemm_blockscale_fp8_fnuz_rcr_bf16", "gemm_fp8_fnuz_bf16_rcr_blockscale"),
        ("gemm_rcr_acc_fp32_int8_bf16", "gemm_int8_bf16_rcr_acc_fp32"),
        ("grouped_gemm_rcr_bf16", "grouped_gemm_bf16_rcr"),
        ("moe_bf16_rcr_gated_layer_epi_silu", "moe_bf16_rcr_layer_gated_epi_silu"),
        ("fmha_bf16_lse_masked", "fmha_bf16_masked_lse"),
        ("fmha_masked_blocktable_fp8_ocp_bf16", "fmha_fp8_ocp_bf16_masked_blocktable"),
    ],
)
def test_the_right_spelling_of_a_canonical_name_is_told(wrong: str, right: str) -> None:
    assert said(wrong) == f"not a canonical signature: '{wrong}'; did you mean '{right}'?"


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("blockscale_a8w8", "a8w8_blockscale"), ("a8w8_bpreshuffle_blockscale", "a8w8_blockscale_bpreshuffle")],
)
def test_the_right_spelling_of_an_alias_is_told(wrong: str, right: str) -> None:
    assert said(wrong) == f"unknown signature: '{wrong}'; did you mean '{right}'?"


@pytest.mark.parametrize(
    "wrong",
    ["gemm_", "gemm_fp16_fp16_rcr", "gemm_bf16_rcr_nonsense", "gemm_rcr", "fmha_masked", "fmha_bf16_masked_masked"],
)
def test_words_that_make_no_name_get_no_other(wrong: str) -> None:
    assert said(wrong) == f"not a canonical signature: '{wrong}'"


@pytest.mark.parametrize(
    "right",
    [
        "gemm_fp8_fnuz_bf16_rcr_blockscale_preshuffle",
        "gemm_bf16_rrr_batched_bias_epi_add_gelu",
        "moe_bf16_rcr_preshuffle_layer_gated_weightfirst_epi_silu",
        "fmha_bf16_varlen_masked_softcap_lse_dropout",
    ],
)
def test_a_shuffled_name_is_refused_cleanly_and_what_is_told_parses(right: str) -> None:
    op, *words = right.split("_")
    for seed in range(200):
        random.Random(seed).shuffle(words)
        text = "_".join([op, *words])
        if text == right:
            continue
        told = said(text).partition("did you mean '")[2].removesuffix("'?")
        if told:
            assert (parse_fmha if op == "fmha" else parse_gemm)(told).canonical() == told
