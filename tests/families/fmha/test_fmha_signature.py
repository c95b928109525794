from __future__ import annotations

from collections.abc import Callable

import pytest
from fmha_strategies import ANY_SIGNATURES
from hypothesis import given

from ckgen.families.fmha.enums import FmhaBias, FmhaDropout, FmhaQuant
from ckgen.families.fmha.signature import FmhaSignature, parse_canonical, parse_signature
from ckgen.model.dtype import DType, Fp8Flavour
from ckgen.model.errors import UsageError


@given(ANY_SIGNATURES)
def test_every_name_is_read_back(signature: FmhaSignature) -> None:
    assert parse_canonical(signature.canonical()) == signature


@given(ANY_SIGNATURES, ANY_SIGNATURES)
def test_no_two_signatures_share_a_name(one: FmhaSignature, other: FmhaSignature) -> None:
    assert (one.canonical() == other.canonical()) == (one == other)


@pytest.mark.parametrize(
    ("signature", "name"),
    [
        (FmhaSignature.of(DType.BF16), "fmha_bf16"),
        (FmhaSignature.of(DType.FP16, varlen=True, masked=True, lse=True), "fmha_fp16_varlen_masked_lse"),
        (
            FmhaSignature.of(DType.FP8, DType.BF16, masked=True, quant=FmhaQuant.PER_TENSOR),
            "fmha_fp8_bf16_masked_pertensor",
        ),
        (
            FmhaSignature.of(DType.BF16, b=DType.FP8_OCP, quant=FmhaQuant.PER_TENSOR),
            "fmha_bf16_fp8_ocp_bf16_pertensor",
        ),
        (
            FmhaSignature.of(DType.FP32, bias=FmhaBias.ALIBI, dropout=FmhaDropout.PHILOX),
            "fmha_fp32_alibi_dropout",
        ),
    ],
)
def test_names(signature: FmhaSignature, name: str) -> None:
    assert signature.canonical() == name
    for text in (name, name.replace("fmha_", "fmha:"), name.removeprefix("fmha_")):
        assert parse_signature(text, None) == signature


def test_plain_fp8_is_the_flavour_of_the_arch() -> None:
    found = parse_signature("fmha:fp8_bf16_pertensor", Fp8Flavour.FNUZ)
    assert (found.a, found.b, found.c) == (DType.FP8_FNUZ, DType.FP8_FNUZ, DType.BF16)
    assert found.describe() == "fmha fp8_fnuz·fp8_fnuz→bf16 pertensor"


WRONG = [
    ("fmha_bf16_lse_masked", "not a canonical signature"),
    ("fmha_bf16_bf16", "not a canonical signature"),
    ("fmha_bf16_masked_masked", "not a canonical signature"),
    ("gemm_bf16_rcr", "not a canonical signature"),
    ("fmha", "not a canonical signature"),
    ("fmha_int8", "Q cannot be int8"),
    ("fmha_bf16_int8_bf16", "K and V cannot be int8 beside Q of bf16"),
    ("fmha_bf16_fp32", "O of Q in bf16 is not fp32"),
    ("fmha_fp8_bf16", "8-bit types have descales, and others none"),
    ("fmha_bf16_pertensor", "8-bit types have descales, and others none"),
    ("fmha_bf16_rope_half", "only append rotates"),
    ("fmha_bf16_append_masked_lse", "append has no use for a mask; append has no use for lse"),
    ("fmha_fp8_ocp_bf16_bwd_pertensor", "backward is of fp32, bf16 or fp16, all of one type"),
    ("fmha_bf16_bwd_lse", "backward reads lse and writes none"),
    ("fmha_bf16_bwd_vcolumn", "backward has V by rows"),
    ("fmha_bf16_bwd_blocktable", "backward reads no pages"),
    ("fmha_bf16_vectorized", "only pages are vectorized"),
    ("fmha_fp8_bf16_kvblockscale", "only pages have descales of their own"),
    ("fmha_bf16_vcolumn_blocktable", "pages say where V lies"),
    ("fmha_bf16_alibi_softcap", "softcap goes without a bias"),
]


@pytest.mark.parametrize(("text", "reason"), WRONG)
def test_what_means_nothing_is_refused_with_its_reason(text: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        parse_signature(text, None)


def test_what_is_said_of_what_means_nothing(golden: Callable[[str, str], None]) -> None:
    texts = []
    for text, _ in WRONG:
        with pytest.raises(UsageError) as error:
            parse_signature(text, None)
        texts.append(f"{error.value}\n")
    golden("families/wrong_attention.txt", "".join(texts))
