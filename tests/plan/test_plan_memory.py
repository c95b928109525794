"""How much memory a plan takes for each row: a table of a million rows must fit into a gigabyte."""

from __future__ import annotations

import tracemalloc
from itertools import cycle
from pathlib import Path

import pytest

from ckgen.plan.model import GenerationPlan
from plan_support import GFX942, GFX942_80, GFX950, LARGE, MIDDLE, SMALL_M, plan_of, row, write_table

TARGETS = (GFX942, GFX942_80, GFX950)
ROWS = 12_000
MOST = 850
"""Bytes of a row at the peak: what is read, the row, its fate, and what a library or a warning holds of it."""


def planned(folder: Path, rows: int, splits: int) -> GenerationPlan:
    kernels = (SMALL_M, MIDDLE, LARGE)
    lines = (
        row(
            16 + 16 * (at // 60), kernels[at % 3], gfx=target.gfx, cu_num=target.cu_num, N=512 + 512 * (at % 20),
            splitK=splits, us=20 + at / 7, tflops=at / 3, bw=at / 11,
        )
        for at, target in zip(range(rows), cycle(TARGETS), strict=False)
    )  # fmt: skip
    table = write_table(folder / str(rows) / "a8w8_blockscale.csv", lines)
    return plan_of(table, targets=TARGETS, backends=frozenset({"ck"}), signatures=("*_blockscale",))


@pytest.mark.parametrize(("splits", "fate"), [(0, "selected"), (20, "unavailable")])
def test_a_row_takes_at_most_so_many_bytes(tmp_path: Path, splits: int, fate: str) -> None:
    """Selected, or unavailable with one warning for all; what is there once for any table is not counted."""
    planned(tmp_path, 60, splits)
    tracemalloc.start()
    plan = planned(tmp_path, ROWS, splits)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert {found.kind.value for found in plan.fates} == {fate} and len(plan.fates) == ROWS
    assert len(plan.diagnostics) == (0 if fate == "selected" else 1)
    assert peak / ROWS < MOST, peak / ROWS
