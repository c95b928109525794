"""What the fuzzer compares: planted errors are reported at each problem that it draws."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from ckgen.families.gemm.enums import Op
from ckgen.families.gemm.signature import GemmSignature, parse_canonical
from ckgen.fuzz.case import Case, Data
from ckgen.fuzz.data import expected_of, operands_of, wrong
from ckgen.fuzz.decide import decide, signature_of
from ckgen.fuzz.draw import case_of
from ckgen.fuzz.grouped import GroupedWork
from ckgen.fuzz.operations import operation_of
from ckgen.fuzz.prepare import inputs_of
from ckgen.fuzz.space import Space
from ckgen.model.tuned_row import Shape
from planted_errors import unreported

PROBLEMS = {"gemm": 300, "stream_k": 40, "grouped_gemm": 60}
IN_PARTS = 10
JUDGED = (Data.RANDOM, Data.INTEGERS)
"""The other kinds are zeros, and values whose sums round."""


@pytest.fixture(scope="module", params=PROBLEMS)
def space(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Space:
    """Of one op."""
    return inputs_of((request.param,), tmp_path_factory.mktemp("planted")).space()


def drawn(space: Space, index: int) -> Iterator[tuple[Case, GemmSignature, int]]:
    """A case that runs, its signature, and of how many parts C is added up; of groups each."""
    case = case_of(space, 3, index)
    signature = signature_of(space, case)
    if not isinstance(signature, GemmSignature) or case.data not in JUDGED:
        return
    decision = decide(space, case, signature, None)  # type: ignore[arg-type]
    work = operation_of(signature).work(case, decision)
    small = work.is_small(1 << 22, 1 << 18, 1 << 30)
    if decision.chosen.finding is not None or not decision.chosen.instance or not small:
        return
    alone, parts = replace(signature, op=Op.GEMM), operation_of(signature).parts(space, decision)
    each = work.each() if isinstance(work, GroupedWork) else {0: case}
    yield from ((one, alone, parts) for one in each.values() if one.k)


def test_planted_errors_are_reported_at_every_problem(space: Space, request: pytest.FixtureRequest) -> None:
    op = request.node.callspec.params["space"]
    found, in_parts, index = 0, 0, 0
    while found < PROBLEMS[op] or (op == "gemm" and in_parts < IN_PARTS):
        for case, signature, parts in drawn(space, index):
            batch = case.batch if signature.batched else 0
            operands = operands_of(signature, case, Shape(batch, case.m, case.n, case.k), parts)
            expected = expected_of(operands, case, parts)
            with np.errstate(invalid="ignore", over="ignore"):
                missed = unreported(operands, expected, lambda c, e=expected: wrong(e, c) == "", parts)  # type: ignore[misc]
            assert not missed, (case.text(), missed)
            found, in_parts = found + 1, in_parts + (parts > 1)
        index += 1


def test_data_of_a_sum_of_parts_are_integers() -> None:
    case = Case("gemm_bf16_rcr", "gfx942:304", m=3, n=40, k=64, seed=4)
    signature = parse_canonical(case.signature)
    for data in Data:
        operands = operands_of(signature, replace(case, data=data), Shape(0, 3, 40, 64), 4)
        finite = operands.a[np.isfinite(operands.a)]
        assert (finite == np.rint(finite)).all()
