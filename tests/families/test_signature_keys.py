"""Keys of signatures: Python and C++ write the same members into the same bits, and no two signatures share a key."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields, replace
from itertools import pairwise, product, starmap
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from ckgen import paths
from ckgen.families.common import cpp
from ckgen.families.common.key import pack
from ckgen.families.common.key_fields import KEY_BITS
from ckgen.families.fmha import enums as fmha
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.families.gemm import cpp as cpp_gemm
from ckgen.families.gemm.enums import (
    MAX_EPILOGUE_OPS,
    NO_MOE,
    SCALE_BLOCK_K,
    SCALE_BLOCK_N,
    EpilogueOp,
    Layout,
    MoePart,
    MoeTraits,
    Op,
    OperandOp,
    Quant,
    ScaleBlock,
    ScaleSides,
)
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.dtype import DType

Signature = TypeVar("Signature", GemmSignature, fmha.FmhaTraits)

HEADERS = paths.dispatcher_dir() / "include"


def test_every_member_is_drawn() -> None:
    assert set(GEMM_VALUES) == {field.name for field in fields(GemmSignature)}
    assert set(TRAIT_VALUES) == {field.name for field in fields(fmha.FmhaTraits)}


def of_its_op(signature: GemmSignature) -> GemmSignature:
    """Without MoE traits, or of op moe without operand ops: these share their bits."""
    if signature.op is Op.MOE:
        return replace(signature, a_op=OperandOp.NONE, b_op=OperandOp.NONE)
    return replace(signature, moe=NO_MOE)


DTYPES, FLAGS = tuple(DType), (False, True)
GEMM_VALUES: dict[str, tuple[Any, ...]] = {
    "scale_block": tuple(starmap(ScaleBlock, product(ScaleSides, SCALE_BLOCK_N, SCALE_BLOCK_K))),
    "moe": tuple(starmap(MoeTraits, product(MoePart, FLAGS, FLAGS))),
    **dict.fromkeys(("a_op", "b_op"), tuple(OperandOp)),
    "epilogue": ((), *product(EpilogueOp, repeat=1), *product(EpilogueOp, repeat=MAX_EPILOGUE_OPS)),
    "op": tuple(Op),
    **dict.fromkeys(("a", "b", "c", "acc"), DTYPES),
    "scale": (None, *DTYPES),
    "layout": tuple(Layout),
    "quant": tuple(Quant),
    **dict.fromkeys(("preshuffle_b", "batched", "bias"), FLAGS),
}
"""Of each member, in the order of the key's bits."""
TRAIT_VALUES: dict[str, tuple[Any, ...]] = {
    "entry": tuple(fmha.FmhaEntry),
    **dict.fromkeys(("varlen", "v_column", "masked", "softcap", "sink", "lse"), FLAGS),
    "bias": tuple(fmha.FmhaBias),
    "dropout": tuple(fmha.FmhaDropout),
    "quant": tuple(fmha.FmhaQuant),
    "kv": tuple(fmha.FmhaKv),
    "kv_layout": tuple(fmha.FmhaKvLayout),
    "rope": tuple(fmha.FmhaRope),
}
GEMMS = st.fixed_dictionaries({name: st.sampled_from(values) for name, values in GEMM_VALUES.items()}).map(
    lambda members: of_its_op(GemmSignature(**members))
)
"""Any signature of a GEMM, whether it means something or not."""
TRAITS = st.fixed_dictionaries({name: st.sampled_from(values) for name, values in TRAIT_VALUES.items()}).map(
    lambda members: fmha.FmhaTraits(**members)
)


def near(value: Signature, values: Mapping[str, tuple[Any, ...]]) -> Iterator[Signature]:
    """All that differ in two neighbours at most: a member that runs over its bits runs into the next one's."""
    for one, two in pairwise(values):
        for members in product(values[one], values[two]):
            yield replace(value, **dict(zip((one, two), members, strict=True)))


@given(GEMMS)
@settings(max_examples=4, phases=[Phase.generate])  # a smaller signature says no more
def test_gemms_that_differ_have_keys_that_differ(signature: GemmSignature) -> None:
    others = {of_its_op(other) for other in near(signature, GEMM_VALUES)}
    assert len({pack(other) for other in others}) == len(others) > 1000
    assert max(map(pack, others)) < 1 << KEY_BITS


@given(TRAITS)
@settings(max_examples=20, phases=[Phase.generate])
def test_attentions_that_differ_have_keys_that_differ(traits: fmha.FmhaTraits) -> None:
    others = {FmhaSignature.of(DType.BF16, **asdict(other)) for other in near(traits, TRAIT_VALUES)}
    assert len({pack(other) for other in others}) == len(others) > 30
    assert max(map(pack, others)) < 1 << KEY_BITS


@given(GEMMS, TRAITS, st.sampled_from(DTYPES))
def test_a_gemm_and_attention_never_share_a_key(gemm: GemmSignature, traits: fmha.FmhaTraits, dtype: DType) -> None:
    assert pack(gemm) != pack(FmhaSignature.of(dtype, **asdict(traits)))


def drawn(count: int) -> list[GemmSignature]:
    """Always the same ones."""
    found: list[GemmSignature] = []

    @settings(max_examples=count, derandomize=True, database=None)
    @given(GEMMS)
    def collect(signature: GemmSignature) -> None:
        found.append(signature)

    collect()
    return found


@pytest.mark.cpp
def test_the_real_header_computes_the_same_keys(tmp_path: Path) -> None:
    lines = ["#include <ckgen/describe_unit.hpp>"]
    for number, signature in enumerate(drawn(200)):
        words = "".join(cpp_gemm.signature_words(signature))
        lines.append(f"constexpr ckgen::Signature s{number} = ckgen::describe::{words};")
        lines.append(f"static_assert(s{number}.pack() == {cpp.hex64(pack(signature))});")
    source = tmp_path / "keys.cpp"
    source.write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = ["g++", "-std=c++17", "-fsyntax-only", f"-I{HEADERS}", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
