"""Rules of signatures: each is broken by some signature, and both languages say the same sentence of it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import fields, replace
from itertools import product
from pathlib import Path

import pytest

import cpp_build
from ckgen.families.common.key import KEY_FIELDS, pack
from ckgen.families.common.signature_tables import RULES
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.families.fmha.signature import parse_canonical as parse_attention
from ckgen.families.gemm.enums import NO_MOE, EpilogueOp, MoePart, MoeTraits, Op, ScaleBlock, ScaleSides
from ckgen.families.gemm.signature import GemmSignature, parse_canonical
from ckgen.model.dtype import DType
from ckgen.model.op_words import WORDS

NOT_OF_KEYS = {"gemm.epilogue.steps", "gemm.scale-block.size"}
"""What a key has no bits for: more steps, and sizes of no list."""
GEMMS = (
    "gemm_fp16_rcr", "gemm_fp8_ocp_bf16_rcr_rowwise", "gemm_fp4_bf16_rcr_mx", "gemm_fp16_int4_fp16_rcr",
    "gemm_fp8_bf16_rcr_blockscale_scales_b_1x64", "gemm_int8_bf16_rcr_rowwise_preshuffle", "gemm_bf16_rcr_epi_add_mul",
    "gemm_fp32_rcr_a_add_b_mul", "grouped_gemm_bf16_rrr", "moe_bf16_rcr_layer_gated_epi_silu", "moe_bf16_rcr_down",
    "moe_bf16_rcr_gate_up",
    "gemm_int8_int32_rcr", "gemm_bf16_rcr_per_tensor", "gemm_fp16_rcr_preshuffle",
    "gemm_fp8_ocp_int4_bf16_rcr_blockscale_scales_b_1x128",
)  # fmt: skip
ATTENTION = (
    "fmha_bf16",
    "fmha_fp8_bf16_pertensor",
    "fmha_bf16_bwd_masked",
    "fmha_bf16_append_blocktable",
    "fmha_bf16_alibi",
    "fmha_fp16_fp8_fp16_kvblockscale_pagelist",
)


def gemms() -> Iterator[GemmSignature]:
    """Legal signatures, and all that differ from one in one field; in two where they go together."""
    own = {
        "epilogue": ((), (EpilogueOp.RELU,), (EpilogueOp.ADD, EpilogueOp.MUL, EpilogueOp.ADD)),
        "moe": tuple(MoeTraits(part, gated) for part, gated in product(MoePart, (False, True))),
        "scale_block": (ScaleBlock(), ScaleBlock(ScaleSides.B, 1, 64), ScaleBlock(ScaleSides.A, 64, 128)),
    }
    for name in GEMMS:
        base = parse_canonical(name)
        assert not base.problems()
        for one in fields(base):
            field = KEY_FIELDS.get(one.name)
            values = own.get(one.name) or (WORDS[field.kind] if field and field.kind in WORDS else (False, True))
            for value in values:
                changed = replace(base, **{one.name: value})
                if changed.op is not Op.MOE or changed.a_op is changed.b_op:
                    yield changed


def attentions() -> Iterator[FmhaSignature]:
    """The same of attention."""
    for name in ATTENTION:
        base = parse_attention(name)
        assert not base.problems()
        yield from (replace(base, **{side: dtype}) for side in "abc" for dtype in DType)
        for field in KEY_FIELDS.values():
            if field.name.startswith("fmha."):
                for value in WORDS.get(field.kind, (False, True)):
                    yield replace(base, traits=replace(base.traits, **{field.name.removeprefix("fmha."): value}))


@pytest.fixture(scope="module")
def all_signatures() -> list[GemmSignature | FmhaSignature]:
    return list(dict.fromkeys([*gemms(), *attentions()]))


PROGRAM = """\
#include <cstdio>
#include <iostream>
#include <ckgen/signature_text.hpp>
#include "src/signature/key.hpp"
int main() {
  for (std::uint64_t key = 0; std::cin >> key;)
    std::puts(ckgen::signature_status(ckgen::detail::unpack(key)).message);
}
"""


@pytest.mark.cpp
def test_both_languages_say_the_same_of_a_signature_that_means_nothing(
    all_signatures: list[GemmSignature | FmhaSignature], tmp_path: Path
) -> None:
    source, program, root = tmp_path / "say.cpp", tmp_path / "say", cpp_build.ROOT / "dispatcher_cpp"
    source.write_text(PROGRAM, encoding="utf-8")
    sources = [root / "src" / "signature" / f"{name}.cpp" for name in ("key", "rules")]
    flags = ["-std=c++20", f"-I{root / 'include'}", f"-I{root}"]
    subprocess.run(["g++", *flags, str(source), *map(str, sources), "-o", str(program)], check=True)
    held = [one for one in all_signatures if isinstance(one, FmhaSignature) or one.op is Op.MOE or one.moe == NO_MOE]
    keys = "\n".join(str(pack(signature)) for signature in held)
    said = subprocess.run([str(program)], input=keys, capture_output=True, text=True, check=True).stdout.splitlines()
    expected = [next(iter(signature.problems()), "") for signature in held]
    assert said == expected
    assert "" in said and len(set(said)) > 100


def test_each_rule_is_the_first_that_some_signature_breaks(
    all_signatures: list[GemmSignature | FmhaSignature],
) -> None:
    first = [next(iter(signature.problems()), "") for signature in all_signatures]
    unseen = {
        rule for rule, _, sentence, _ in RULES if not any(text.startswith(sentence.split("{")[0]) for text in first)
    }
    assert unseen == NOT_OF_KEYS
