"""Signatures of every op: what a text means is printed, and read back as the same."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from ckgen.families.kernel_sets import OPS, kernel_set_files, read_kernel_set, shipped_set
from ckgen.families.registry import FAMILIES
from ckgen.model.dtype import Fp8Flavour
from parser_fuzz.target import Target, refusal, text_of


def run(data: bytes) -> None:
    """Asks every family, with and without a flavour of fp8."""
    text = text_of(data)
    for family in FAMILIES.values():
        for flavour in (None, *Fp8Flavour):
            with refusal():
                signature = family.parse_signature(text, flavour)
                assert family.parse_signature(signature.canonical(), flavour) == signature
                assert signature.describe()


@cache
def seeds() -> Sequence[bytes]:
    """Those of shipped sets, and short forms."""
    gemms = {str(one.signature) for name in ("ci", "default") for op in OPS[:-1] for one in shipped_set(name, op)}
    files = [file for name in ("ci", "default") for file in kernel_set_files(Path(name), ("fmha",))]
    attention = {one.signature.canonical() for file in files for one in read_kernel_set(file)}
    short = [alias for family in FAMILIES.values() for alias in family.aliases]
    more = [
        "a8w8:int8:fp16:bias",
        "grouped:a8w8_blockscale:fp8",
        "moe:bf16:gate_up:gated:silu:weightfirst",
        "fmha:bf16",
    ]
    return [text.encode() for text in (*sorted(gemms), *sorted(attention)[::9], *short, *more)]


WORDS = (
    b"_acc_fp32",
    b"_scale_e8m0",
    b"_scales_both_1x128",
    b"_epi_silu",
    b"_batched",
    b"_bias",
    b":",
    b"fp8",
    b"moe:",
)
TARGET = Target("signature_text", run, seeds, WORDS)
