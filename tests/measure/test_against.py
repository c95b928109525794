"""Peers: what they offer is compared before it is timed, what they do not is a reason."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ckgen.families.gemm.signature import parse_canonical
from ckgen.fuzz.case import Case
from ckgen.fuzz.gemm import GemmGiven, GemmWork
from ckgen.measure import against
from ckgen.measure.against import offered
from ckgen.measure.peers import check_peers, peer
from ckgen.measure.timing import Body
from ckgen.model.errors import UsageError
from ckgen.model.tuned_row import Shape


def given(name: str, m: int = 5, n: int = 6, k: int = 32) -> GemmGiven:
    signature: Any = parse_canonical(name)
    decision: Any = SimpleNamespace(signature=signature, query=SimpleNamespace(shape=Shape(0, m, n, k)))
    return GemmWork(Case(name, "gfx942:304", m=m, n=n, k=k), decision).given(None, 0, 1)  # type: ignore[arg-type]


def test_a_way_that_is_right_is_timed_on_memory_of_its_own_for_each_set() -> None:
    bodies, (outcome,) = offered("numpy", given("gemm_fp32_rcr"), 3)
    assert outcome.reason == "" and outcome.max_rel < 1e-6
    assert len(bodies["numpy matmul, out="].calls) == 3
    results = [call() for call in bodies["numpy matmul, out="].calls]
    assert len({one.ctypes.data for one in results}) == 3  # type: ignore[attr-defined]


def test_a_wrong_result_and_what_is_not_offered_are_reasons(monkeypatch: pytest.MonkeyPatch) -> None:
    def offers(a: Any, b: Any) -> Any:
        right = a.astype(np.float64) @ b.astype(np.float64).T
        return {"off": Body((lambda: right * 1.05,)), "none": "no such type", "right": Body((lambda: right,))}

    made = SimpleNamespace(offers=offers, array_of=lambda result: result)
    monkeypatch.setattr(against, "peer", lambda name: made)
    bodies, outcomes = offered("made", given("gemm_bf16_rcr"), 1)
    assert list(bodies) == ["right"]
    assert {one.name: one.reason for one in outcomes} == {
        "off": "its result is not the same", "none": "no such type", "right": "",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("gemm_int8_bf16_rcr_rowwise", "without scales, bias and epilogue"),
        ("gemm_fp32_rcr_bias", "without scales, bias and epilogue"),
        ("gemm_bf16_rrr", "row-major A and column-major B"),
    ],
)
def test_a_problem_that_peers_are_not_asked_is_a_reason(name: str, said: str) -> None:
    bodies, (outcome,) = offered("numpy", given(name), 1)
    assert bodies == {} and said in outcome.reason


def test_numpy_says_which_types_it_has_not() -> None:
    bodies, (outcome,) = offered("numpy", given("gemm_bf16_rcr"), 1)
    assert bodies == {} and outcome.reason == "numpy's BLAS has no product of bfloat16 and bfloat16"


def test_names_of_peers_are_checked() -> None:
    check_peers(("numpy", "torch"))
    assert peer("torch").offers is not None
    with pytest.raises(UsageError, match="known: numpy, torch"):
        check_peers(("blas",))
