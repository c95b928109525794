"""Values as C++ text, and what may not stand in code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from ckgen.families.common import cpp
from ckgen.families.common.key import pack
from ckgen.families.fmha import cpp as cpp_fmha
from ckgen.families.fmha.constraints import FmhaConstraints
from ckgen.families.gemm import cpp as cpp_gemm
from ckgen.families.gemm.problem_rules import Constraints, RoutedConstraints
from ckgen.families.gemm.signature import parse_canonical
from ckgen.model.backend import Backend
from ckgen.model.config import Tile
from ckgen.model.dtype import DType
from cpp_build import ROOT, attempt

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
        words = "".join(cpp_gemm.signature_words(signature))
        lines.append(f"{name} {cpp.hex64(pack(signature))}\n    {words}\n")
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
    assert cpp.macro_tile(Tile(1, 2, 3)) == ".macro_tile(1, 2, 3)"
    assert [cpp.backend(one) for one in (Backend.ASM, Backend.CK)] == ["ckgen::Backend::asm_", "ckgen::Backend::ck"]


def test_only_what_is_asked_is_said() -> None:
    assert cpp_gemm.constraints(Constraints()) == "constraints()"
    assert (
        cpp_gemm.constraints(Constraints(m_multiple=2, max_k_batch=7)) == "constraints().m_multiple(2).max_k_batch(7)"
    )
    assert cpp_gemm.constraints(Constraints(atomic_split=True, max_m=9)) == "constraints().atomic_split().max_m(9)"
    routed = Constraints(routed=RoutedConstraints(min_n=1, presorted=True, max_weights=8))
    assert cpp_gemm.constraints(routed) == "constraints().min_n(1).presorted().max_weights(8)"


def test_only_what_differs_is_said_of_attention() -> None:
    names = ("m0", "n0", "k0", "n1", "k1", "hdim_q", "hdim_v", "pad_q", "pad_k", "d_multiple", "dv_multiple")
    sizes: dict[str, Any] = dict(zip(names, (*range(1, 8), True, False, 0, 9), strict=True))
    usual = cpp_fmha.numbers(FmhaConstraints(**sizes))
    words = "tile_qk(1, 2, 3).tile_v(4, 5).hdims(6, 7).pads(true, false)"
    assert usual == f"fmha_config().{words}.dv_multiple(9)"
    changes = {"rows_together": (3, "3"), "max_page": (3, "3"), "causal_only": (True, ""), "max_keys": (3, "3"),
               "cache_limit": (3, "3"), "sink_tokens": (False, "false"), "max_splits": (128, "128")}  # fmt: skip
    for name, (value, said) in changes.items():
        text = cpp_fmha.numbers(FmhaConstraints(**sizes, **{name: value}))
        assert text == f"{usual}.{name}({said})", name


@pytest.mark.cpp
def test_the_words_of_the_headers_make_these_constraints(tmp_path: Path) -> None:
    """Every number of its own: what Python says, the members of the real struct have."""
    asked = Constraints(*range(1, 7), atomic_split=True, split_grain=7, max_ab=2**33, max_c=2**34, split_turn=8,
                        split_lead=9, min_m=10, max_m=11, measured_only=True,
                        routed=RoutedConstraints(*range(12, 18), True, 2**35))  # fmt: skip
    members = [name.name for name in fields(Constraints) if name.name != "routed"]
    holds = [f"x.{name} == {int(getattr(asked, name))}" for name in members]
    holds += [f"x.routed.{one.name} == {int(getattr(asked.routed, one.name))}" for one in fields(RoutedConstraints)]
    source = tmp_path / "words.cpp"
    source.write_text(
        "#include <ckgen/describe_unit.hpp>\nusing namespace ckgen::describe;\n"
        f"constexpr ckgen::Constraints x = {cpp_gemm.constraints(asked)};\nstatic_assert({' && '.join(holds)});\n"
        f"constexpr ckgen::Constraints none = {cpp_gemm.constraints(Constraints())};\n"
        "static_assert(none.max_k_batch == 1 && !none.atomic_split && none.k_multiple == 0 && none.max_ab == 0);\n"
    )
    done = attempt("g++", "-std=c++17", "-fsyntax-only", f"-I{ROOT / 'dispatcher_cpp/include'}", source)
    assert done.returncode == 0, done.stdout
