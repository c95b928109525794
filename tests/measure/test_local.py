"""Candidates that do what no kernel may: each is its row, the others are measured all the same."""

from __future__ import annotations

import pytest

from ckgen.measure.model import Effort, MeasureStatus
from measure.conftest import Bad

pytestmark = pytest.mark.cpp
QUICK = Effort(seconds=0.05, least=2, most=2, still=0.0, sample=0.0)


def test_each_fault_is_a_row_and_the_rest_is_measured(bad: Bad) -> None:
    heard = []
    with bad.measurer() as measurer:
        rows = measurer.measure(bad.problem(), tuple(bad.candidates.values()), QUICK, heard.append)
    found = dict(zip(bad.candidates, rows, strict=True))
    assert {act: row.status.value for act, row in found.items()} == {
        "crashes": "crashed",
        "aborts": "crashed",
        "loops": "hung",
        "sleeps": "hung",
        "writes_beside": "out_of_bounds",
        "gives_garbage": "wrong",
        "takes_all_memory": "out_of_memory",
        "crashes_later": "crashed",
        "prints": "ok",
        "right": "ok",
    }
    assert "SIGSEGV" in found["crashes"].reason and "SIGABRT" in found["aborts"].reason
    assert found["loops"].reason == "no answer after 0.4 s"
    assert found["writes_beside"].reason.startswith("C: byte 3840 was written")
    assert found["gives_garbage"].reason.startswith("C[0, 23, 39] is ")
    assert sorted(heard, key=lambda row: row.candidate) == sorted(rows, key=lambda row: row.candidate)
    for act, row in found.items():
        assert row.candidate == bad.candidates[act] and row.digest == measurer.digest
        assert (row.median_us > 0, row.runs == 2, row.checked == 24 * 40) == (row.status is MeasureStatus.OK,) * 3
        assert bool(row.reason) == (row.status is not MeasureStatus.OK)
