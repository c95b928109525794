"""Registry documents: what is read is printed, and read again as the same."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from ckgen.model.target import Target as Device
from ckgen.plan.options import PlanOptions
from ckgen.plan.planner import make_plan
from ckgen.plan.registry_document import registry_text
from ckgen.plan.registry_read import read_registry
from ckgen.specs.archs import load_archs
from parser_fuzz.target import Target, file_of, refusal

_OPS = ("gemm", "grouped_gemm", "moe", "fmha")


def run(data: bytes) -> None:
    """Reads a document; prints what it means and reads that."""
    with refusal():
        text = registry_text(read_registry(file_of(data, "registry.json"), load_archs()))
        again = read_registry(file_of(text.encode(), "printed.json"), load_archs())
        assert registry_text(again) == text


@cache
def seeds() -> Sequence[bytes]:
    """Documents of one op each, of few instances."""
    return [text.encode() for text in map(_document, _OPS) if len(text) < 1 << 15]


def _document(op: str) -> str:
    options = PlanOptions(
        targets=(Device("gfx942", 304),), ops=frozenset({op}), tuning=(), kernel_sets=(Path("ci"),), every_count=True
    )
    return registry_text(make_plan(options, load_archs()))


TARGET = Target("registry", run, seeds, (b'"gfx942"', b'"signature"', b'"instances": []', b"{}", b"[]", b"1.5"))
