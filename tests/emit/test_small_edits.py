"""What an edit of a shipped table changes in the tree: files and lines, as a reviewer of the table sees them."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path

import pytest

from ckgen.emit.render import render
from ckgen.model.fate import FateKind
from ckgen.plan.model import GenerationPlan
from plan_support import REAL_TABLES, REAL_TARGETS, plan_of

Rows = list[dict[str, str]]
OPS = {"a8w8_tuned_gemm.csv": "gemm", "a8w8_bpreshuffle_tuned_gemm.csv": "gemm", "tuned_fmoe.csv": "moe"}
TABLES = tuple(OPS)
MOST_FILES = 3
"""Of an instance that comes or goes: its number, unit and row, of a layer with its gate_up and down."""
KERNELS = ("kernelName", "kernelName1", "kernelName2")
CHOICE = (*KERNELS, "splitK", "block_m", "ksplit")
KINDS = ("gfx", "cu_num", "q_dtype_w", "libtype", "act_type", "dtype", "q_type", "doweight_stage1")
FEW = 3
"""Rows of a table that are edited; each costs a plan of it."""


@dataclass(frozen=True)
class Edited:
    """Lines added and removed, by file."""

    lines: dict[str, int]

    @property
    def total(self) -> int:
        return sum(self.lines.values())


@cache
def shipped(table: str) -> Rows:
    with (REAL_TABLES / table).open(newline="") as file:
        return list(csv.DictReader(file))


@cache
def plan(table: str) -> GenerationPlan:
    return plan_of(REAL_TABLES / table, targets=REAL_TARGETS, ops=frozenset({OPS[table]}))


@cache
def tree(table: str) -> dict[str, str]:
    return render(plan(table), "my_kernels")


def edited(folder: Path, table: str, edit: Callable[[Rows], object]) -> Edited:
    before, rows = tree(table), [dict(row) for row in shipped(table)]
    edit(rows)
    with (folder / table).open("w", newline="") as file:
        writer = csv.DictWriter(file, list(shipped(table)[0]))
        writer.writeheader()
        writer.writerows(rows)
    after = render(plan_of(folder / table, targets=REAL_TARGETS, ops=frozenset({OPS[table]})), "my_kernels")
    lines = {path: changed_lines(before.get(path, ""), after.get(path, "")) for path in before.keys() | after.keys()}
    return Edited({path: count for path, count in lines.items() if count})


def changed_lines(before: str, after: str) -> int:
    """Lines that go and lines that come; difflib takes lines that stand often for junk unless it is told not to."""
    lines = SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False).get_opcodes()
    return sum(i2 - i1 + j2 - j1 for tag, i1, i2, j1, j2 in lines if tag != "equal")


def kind_of(row: dict[str, str]) -> tuple[str, ...]:
    """What decides, beside the kernel, which instances there are."""
    return tuple(row.get(name, "") for name in KINDS)


def kernel_of(row: dict[str, str]) -> tuple[str, ...]:
    return tuple(row.get(name, "") for name in KERNELS)


def selected(table: str) -> list[int]:
    """The rows that answer their shape."""
    return [at for at, fate in enumerate(plan(table).fates) if fate.kind is FateKind.SELECTED]


@cache
def exchanges(table: str) -> tuple[tuple[int, dict[str, str]], ...]:
    """Rows with kernel cells of another row of their kind, where three more rows at least chose either; a few."""
    rows = shipped(table)
    answering = [rows[at] for at in selected(table)]
    count = Counter((kind_of(row), kernel_of(row)) for row in answering)
    found = []
    for at in selected(table):
        kind, own = kind_of(rows[at]), kernel_of(rows[at])
        if count[kind, own] < 4:
            continue
        other = next(
            (
                one
                for one in answering
                if kind_of(one) == kind and kernel_of(one) != own and count[kind, kernel_of(one)] > 3
            ),
            None,
        )
        if other is not None:
            found.append((at, {name: other[name] for name in CHOICE if name in other}))
    return tuple(found[:: max(1, len(found) // FEW)])[:FEW]


@pytest.mark.parametrize("table", TABLES)
def test_a_row_with_another_kernel_or_without_it_changes_a_few_lines_of_one_file(table: str, tmp_path: Path) -> None:
    for at, other in exchanges(table):
        found = edited(tmp_path, table, lambda rows, at=at, other=other: rows[at].update(other))
        assert len(found.lines) == 1 and 1 <= found.total <= 10, (table, at, found)
        found = edited(tmp_path, table, lambda rows, at=at: rows.pop(at))
        assert len(found.lines) == 1 and 1 <= found.total <= 10, (table, at, found)


@pytest.mark.parametrize("table", TABLES)
def test_an_instance_that_goes_or_comes_changes_a_few_lines_of_few_files(table: str, tmp_path: Path) -> None:
    rows = shipped(table)
    count = Counter(kernel_of(rows[at]) for at in selected(table))
    of_kind = Counter(kind_of(rows[at]) for at in selected(table))
    lonely = [at for at in selected(table) if count[kernel_of(rows[at])] == 1 and of_kind[kind_of(rows[at])] > 9]
    lonely = lonely[:: max(1, (len(lonely) - 1) // (FEW - 1))][:FEW]  # the first and the last among them
    changed = [edited(tmp_path, table, lambda rows, at=at: rows.pop(at)) for at in lonely]
    for found in changed:
        assert len(found.lines) <= MOST_FILES and found.total <= 30, (table, found)
    assert any("/unit.cpp" in path for found in changed for path in found.lines)
