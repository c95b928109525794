"""A measured row is evidence: no rule rejects what ran and won on its gfx, and no peak is below what was seen."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from ckgen import paths
from ckgen.families.gemm.grammar import identify
from ckgen.families.gemm.modules import modules
from ckgen.families.gemm.signature import signatures_of_row
from ckgen.families.rules import judge
from ckgen.model.dtype import TORCH_NAMES, DType
from ckgen.model.tuned_row import Discriminators
from ckgen.specs import load_arch

TUNING = paths.root() / "tuning"
MISLABELLED = "a8w8_blockscale_bpreshuffle_tuned_gemm_qwen3.5_397b.csv"
"""Ten rows of this file claim more than 80 CUs can compute: they cannot have been measured on what they name."""

Row = tuple[str, int, str, dict[str, str]]

pytestmark = pytest.mark.skipif(not TUNING.is_dir(), reason="no tuning tables in this installation")


def module_of(file: Path) -> str | None:
    """The module with the longest name that the file's name begins with; batched tables turn theirs around."""
    name = file.name
    if "batched" in name:
        return "batched_bf16" if name.startswith("bf16") else "batched_a8w8"
    fitting = [module for module in modules() if name.removeprefix("dsv3_").removeprefix("glm5_").startswith(module)]
    return max(fitting, key=len, default=None)


@cache
def rows() -> tuple[Row, ...]:
    return tuple(_rows())


def _rows() -> Iterator[Row]:
    for file in sorted(TUNING.rglob("*.csv")):
        module = module_of(file)
        if module is None or "untuned" in file.name or "moe" in file.name:
            continue
        with file.open(encoding="utf-8", newline="") as lines:
            for line, row in enumerate(csv.DictReader(lines), 2):
                clean = {key.strip(): (value or "").strip() for key, value in row.items() if key}
                if clean.get("gfx"):
                    yield file.name, line, module, clean


def discriminators(row: dict[str, str]) -> Discriminators:
    return Discriminators(weight_dtype=TORCH_NAMES.get(row.get("q_dtype_w", "")))


def library_of(row: dict[str, str]) -> str:
    return row.get("libtype") or ("asm" if row.get("kernelName", "").startswith("_Z") else "ck")


def test_no_rule_rejects_a_measured_kernel() -> None:
    judged: set[tuple[str, str, str, str, DType | None]] = set()
    rejected = []
    for file, line, module, row in rows():
        library, kernel, gfx = library_of(row), row.get("kernelName", ""), row["gfx"]
        given = discriminators(row)
        key = (module, library, kernel, gfx, given.weight_dtype)
        if library not in ("ck", "cktile") or not kernel or key in judged:
            continue
        judged.add(key)
        arch = load_arch(gfx)
        named = identify(module, library, kernel)
        assert named is not None, f"{file}:{line}: {kernel}"
        for signature in signatures_of_row(module, given, arch.fp8_flavour):
            for finding in judge(signature, named.config, named.backend, arch):
                rejected.append(f"{file}:{line}: {gfx} {kernel}: {finding}")
    assert rejected == []
    assert len({kernel for _, _, kernel, _, _ in judged}) >= 250


def test_only_impossible_rows_beat_a_peak() -> None:
    beaten: dict[str, int] = {}
    seen = 0
    for file, line, module, row in rows():
        arch = load_arch(row["gfx"])
        us = float(row.get("us") or 0)
        if not us > 0 or math.isinf(us):
            continue
        signature = signatures_of_row(module, discriminators(row), arch.fp8_flavour)[0]
        peak = arch.peak_ops(signature.a, signature.b, int(row["cu_num"]))
        assert peak is not None, f"{file}:{line}"
        work = 2 * int(row.get("B") or 1) * int(row["M"]) * int(row["N"]) * int(row["K"])
        seen += 1
        if work / us * 1e6 > peak:
            beaten[file] = beaten.get(file, 0) + 1
    assert beaten == {"dsv3_a8w8_bpreshuffle_tuned_gemm.csv": 6, MISLABELLED: 10}
    assert seen > 40_000
