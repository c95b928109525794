"""The trail that C++ writes is Python's, line by line, but for what only one of them can know."""

from __future__ import annotations

import random
import re

import pytest
from parity_support import TARGETS, Parity

from ckgen.families.common.unit import UnitPlan
from ckgen.families.gemm.query import GemmQuery
from ckgen.model.selection import Wishes
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape
from ckgen.plan.trail import trail

pytestmark = [pytest.mark.cpp, pytest.mark.slow]

PROBLEMS = 300
PLACE = "table.csv:1"


def test_both_write_the_same_trail(parity: Parity) -> None:
    random.seed(11)
    seen: set[str] = set()
    named = [one for one in parity.plan.units if any(of.external_rows for t in one.tables for of in t.groups.values())]
    for index in range(PROBLEMS):
        units = named if index % 3 == 0 else parity.plan.units
        unit = units[index % len(units)]
        target = random.choice(TARGETS)
        shape = _shape(unit, index)
        wishes = Wishes(batch_invariant=index % 4 == 1)
        query = GemmQuery(parity.plan, target, unit.signature, shape, wishes)
        mine = _without_measurements(trail(query, lambda row: PLACE).text())
        theirs = _of_cpp(parity, unit, target, shape, wishes)
        assert mine == theirs, (unit.name, str(target), shape)
        seen |= {line[2:12].strip() for line in mine if line.startswith("  ") and line[2] != " "}
    assert {"exact", "near", "heuristic", "far", "other_cu", "default", "not tried", "external", "unsupporte"} <= seen


def _of_cpp(parity: Parity, unit: UnitPlan, target: Target, shape: Shape, wishes: Wishes) -> list[str]:
    sizes, batch = (shape.m, shape.n, shape.k), shape.batch or 1
    problem = parity.library.problem(unit.name, *sizes, batch=batch, batch_invariant=wishes.batch_invariant)
    text = parity.dispatcher.explain(problem, parity.library.simulated(str(target)))
    return _without_providers(text.replace(" (simulated)\n", "\n", 1).splitlines())


def _without_measurements(text: str) -> list[str]:
    """Without the places and times of rows, which only tables hold."""
    lines = [re.sub(rf"^( +){PLACE}(  \S+ us)? measured", r"\1measured", line) for line in text.splitlines()]
    return _without_providers([line.removesuffix(f"  {PLACE}") for line in lines])


def _without_providers(lines: list[str]) -> list[str]:
    """Without what one side knows, and the other takes for granted, of the library that an external winner is of."""
    return [line for line in lines if not line.lstrip().startswith(("assumed not to be there: ", "not provided: "))]


def _shape(unit: UnitPlan, index: int) -> Shape:
    """Tuned, between, beyond, untuned and illegal sizes."""
    known = [(key, m) for table in unit.tables for key, group in table.groups.items() for m in group.rows]
    m = random.choice([random.randint(1, 300), random.randint(1, 40_000)])
    if not known or index % 4 == 0:
        return Shape(int(unit.signature.batched), m, 16 * random.randint(1, 40), 128 * random.randint(1, 40))
    (n, k, batch), measured = random.choice(known)
    m = random.choice([measured, measured + random.randint(1, 40), m])
    return Shape(batch, m, n, k + (index % 13 == 0))
