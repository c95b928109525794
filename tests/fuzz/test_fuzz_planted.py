"""What the fuzzer compares: planted errors are reported at each problem that it draws."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ckgen.families.gemm.enums import Op
from ckgen.families.gemm.reference import Storage
from ckgen.families.gemm.signature import GemmSignature
from ckgen.fuzz.case import Case, Data
from ckgen.fuzz.data import expected_of, operands_of, wrong
from ckgen.fuzz.decide import decide, parts_of, signature_of
from ckgen.fuzz.draw import case_of
from ckgen.fuzz.gemm import GemmWork
from ckgen.fuzz.prepare import inputs_of
from ckgen.fuzz.space import Space
from ckgen.model.tuned_row import Shape
from planted_errors import unreported

PROBLEMS, IN_PARTS = 300, 10
JUDGED = (Data.RANDOM, Data.INTEGERS)
"""The other kinds are zeros, and values whose sums round."""


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Space:
    return inputs_of(("gemm", "stream_k"), tmp_path_factory.mktemp("planted")).space()


def drawn(space: Space, index: int) -> tuple[Case, GemmSignature, int] | None:
    """A case that runs, its signature, and of how many parts C is added up."""
    case = case_of(space, 3, index)
    signature = signature_of(space, case)
    if not isinstance(signature, GemmSignature) or signature.op is not Op.GEMM or case.data not in JUDGED:
        return None
    decision = decide(space, case, signature, None)  # type: ignore[arg-type]
    small = GemmWork(case, decision).is_small(1 << 22, 1 << 18, 1 << 30)
    if decision.chosen.finding is not None or not decision.chosen.instance or not small:
        return None
    return case, signature, parts_of(space, decision)


def test_planted_errors_are_reported_at_every_problem(space: Space) -> None:
    found, in_parts, index = 0, 0, 0
    while found < PROBLEMS or in_parts < IN_PARTS:
        case_and_parts = drawn(space, index)
        index += 1
        if case_and_parts is None:
            continue
        case, signature, parts = case_and_parts
        batch = case.batch if signature.batched else 0
        operands = operands_of(signature, case, Shape(batch, case.m, case.n, case.k), parts)
        expected = expected_of(operands, case, parts)

        def is_right(c: Storage, case: Case = case) -> bool:
            return wrong(expected, c) == ""  # noqa: B023

        with np.errstate(invalid="ignore", over="ignore"):
            missed = unreported(operands, expected, is_right, parts)
        assert not missed, (case.text(), missed)
        found, in_parts = found + 1, in_parts + (parts > 1)


def test_data_of_a_sum_of_parts_are_integers(space: Space) -> None:
    case = Case("gemm_bf16_rcr", "gfx942:304", m=3, n=40, k=64, seed=4)
    signature = signature_of(space, case)
    assert isinstance(signature, GemmSignature)
    for data in Data:
        operands = operands_of(signature, replace(case, data=data), Shape(0, 3, 40, 64), 4)
        finite = operands.a[np.isfinite(operands.a)]
        assert (finite == np.rint(finite)).all()
