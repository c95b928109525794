"""Values as C++ text, and what may not stand in code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ckgen.families.common import cpp
from ckgen.families.common.key import pack
from ckgen.families.fmha import cpp as cpp_fmha
from ckgen.families.fmha.constraints import FmhaConstraints
from ckgen.families.gemm import cpp as cpp_gemm
from ckgen.families.gemm.config import HostConfig
from ckgen.families.gemm.problem_rules import NOT_ROUTED, Constraints, RoutedConstraints
from ckgen.families.gemm.signature import parse_canonical
from ckgen.model.backend import Backend
from ckgen.model.config import Tile
from ckgen.model.dtype import DType

SIGNATURES = (
    "gemm_fp16_rcr", "gemm_bf16_fp16_rcr_batched", "gemm_fp8_fnuz_bf16_rcr_blockscale", "gemm_int8_bf16_rcr_rowwise",
    "gemm_fp4_bf16_rcr_mx_preshuffle", "gemm_fp8_fnuz_bf16_rcr_blockscale_scales_a_128x64", "gemm_fp16_crr_bias",
    "gemm_bf8_fnuz_int4_fp16_rcr_blockscale_scales_b_1x128", "gemm_fp16_rcr_epi_add", "gemm_fp16_rcr_a_add",
    "gemm_bf16_rcr_b_mul", "gemm_fp16_ccr_epi_add_mul_relu", "grouped_gemm_bf16_rrr", "moe_fp8_ocp_bf16_rcr_mx_down",
    "moe_fp8_ocp_bf16_rcr_mx_layer_gated_epi_gelu", "moe_fp8_ocp_bf16_rcr_mx_gate_up_weightfirst_epi_gelu",
    "moe_fp8_fnuz_bf16_rcr_rowwise_preshuffle_gate_up_gated_epi_silu", "gemm_fp8_ocp_bf16_rcr_per_tensor",
)  # fmt: skip


def test_members_and_keys_of_signatures(golden: Callable[[str, str], None]) -> None:
    lines = []
    for name in SIGNATURES:
        signature = parse_canonical(name)
        members = " ".join(f"{key}={value}" for key, value in cpp_gemm.signature_fields(signature).items())
        lines.append(f"{name} {cpp.hex64(pack(signature))}\n    {members}\n")
    golden("emit/signatures.txt", "".join(lines))


@pytest.mark.parametrize("name", ["", "1a", "a-b", "a__b", "class", "ckgen", "std", "a b", "ä", "operator"])
def test_what_is_no_identifier_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="not usable as a C\\+\\+ identifier: ") as error:
        cpp.identifier(name)
    assert repr(name) in str(error.value)


def test_every_keyword_of_cpp_is_refused() -> None:
    keywords = (
        "alignas and asm auto bool break case catch char class const continue default delete do double else enum "
        "explicit export extern false float for friend goto if inline int long mutable namespace new noexcept not "
        "nullptr operator or private protected public register requires return short signed sizeof static struct "
        "switch template this throw true try typedef typename union unsigned using virtual void volatile while xor"
    )
    for word in keywords.split():
        with pytest.raises(ValueError, match=f"'{word}'"):
            cpp.identifier(word)
        assert cpp.identifier(f"{word}_") == f"{word}_"
    assert cpp.identifier("A9_z") == "A9_z"


@pytest.mark.parametrize("text", ['a"b', "a\\b", "a\nb", "é", "\x7f", "\x1f"])
def test_what_cannot_be_quoted_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not usable in a C\\+\\+ string: "):
        cpp.quotable(text)
    assert cpp.quotable(" !#[]~") == " !#[]~"


def test_small_values() -> None:
    assert (cpp.boolean(True), cpp.boolean(False)) == ("true", "false")
    assert cpp.hex64(255) == "0x00000000000000ffULL"
    assert (cpp.dtype(DType.FP4), cpp.dtype(None)) == ("ckgen::DType::fp4", "ckgen::DType::none")
    assert cpp.tile(Tile(1, 2, 3)) == "{1, 2, 3}"
    assert [cpp.backend(one) for one in (Backend.ASM, Backend.CK)] == ["ckgen::Backend::asm_", "ckgen::Backend::ck"]


def test_constraints_end_with_the_last_that_is_not_a_default() -> None:
    plain = Constraints(2, 3, 4, 5, 6, 7)
    assert cpp_gemm.constraints(plain) == "{2, 3, 4, 5, 6, 7, false}"
    names = ("split_grain", "max_ab", "max_c", "split_turn", "split_lead", "max_m")
    for at, name in enumerate(names):
        text = cpp_gemm.constraints(Constraints(2, 3, 4, 5, 6, 7, atomic_split=True, **{name: 9}))
        assert text == f"{{2, 3, 4, 5, 6, 7, true, {'0, ' * at}9}}"
    routed = Constraints(2, 3, 4, 5, 6, 7, routed=RoutedConstraints(*range(1, 6), presorted=True, max_weights=8))
    assert cpp_gemm.constraints(routed) == "{2, 3, 4, 5, 6, 7, false, 0, 0, 0, 0, 0, 0, {1, 2, 3, 4, 5, true, 8}}"
    assert routed.routed != NOT_ROUTED


def test_numbers_of_attention_end_with_the_last_that_is_not_a_default() -> None:
    names = ("m0", "n0", "k0", "n1", "k1", "hdim_q", "hdim_v", "pad_q", "pad_k", "d_multiple", "dv_multiple")
    sizes: dict[str, Any] = dict(zip(names, (*range(1, 8), True, False, 8, 9), strict=True))
    usual = cpp_fmha.numbers(FmhaConstraints(**sizes))
    assert usual == "{1, 2, 3, 4, 5, 6, 7, true, false, 8, 9, 1, 1, false, false, false, 2}"
    changes = {"rows_together": 3, "max_page": 3, "max_rows": 3, "max_group": 3, "causal_only": True, "max_keys": 3,
               "needs_keys": True, "needs_finite": True, "cache_limit": 3, "sink_tokens": False, "takes_gaps_q": False,
               "topleft_slopes": False}  # fmt: skip
    texts = {name: cpp_fmha.numbers(FmhaConstraints(**sizes, **{name: value})) for name, value in changes.items()}
    assert len({usual, *texts.values()}) == 1 + len(changes)
    assert all(len(text.split(",")) > len(usual.split(",")) for text in texts.values())


def test_a_host_config_is_all_zero_for_a_gpu() -> None:
    config = HostConfig(1, 2, 3, 4, 5, 6)
    assert cpp_gemm.host_config(config, "x86_64_v4") == "{ckgen::Isa::x86_64_v4, 1, 2, 3, 4, 5, 6}"
    assert cpp_gemm.host_config(config, None) == "{ckgen::Isa::x86_64_v3, 0, 0, 0, 0, 0, 0}"
    assert cpp_gemm.twin_config(config, Constraints(1, 1, 1, 1, 1, 1)) == "{0, 0, 0, 0, false, false, false}"
