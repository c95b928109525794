"""What is recorded of the assembler is what the assembler writes today."""

from __future__ import annotations

import re

import machine_code
import pytest

from amd_support import amd_toolchain
from ckgen_emulator.assemble import assemble

_LABEL = re.compile(r"^\s*(\w+):", re.MULTILINE)


def with_own_labels(text: str, number: int) -> str:
    for label in _LABEL.findall(text):
        text = re.sub(rf"\b{label}\b", f"l{number}_{label}", text)
    return text


@pytest.mark.parametrize("arch", machine_code.archs())
def test_recorded_machine_code_is_what_the_assembler_writes(arch: str) -> None:
    """All texts in one run, each at a place where its own alignments hold."""
    known = machine_code.recorded(arch)
    texts = (f".p2align 8\n{with_own_labels(text, number)}" for number, text in enumerate(known))
    made, at = assemble("\n".join(texts).splitlines(), arch, amd_toolchain()), 0
    assert isinstance(made, bytes), made
    for text, code in known.items():
        at = -(-at // 256) * 256
        assert made[at : at + len(code)] == code, text
        at += len(code)
    assert at == len(made)
