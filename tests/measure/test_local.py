"""Candidates that do what no kernel may: each is its row, the others are measured all the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from bad_library import Bad
from ckgen import paths
from ckgen.measure.model import Candidate, Effort, MeasureStatus
from ckgen.model.errors import CkgenError

pytestmark = pytest.mark.cpp
QUICK = Effort(seconds=0.05, least=2, most=2, still=0.0, sample=0.005)


def test_each_fault_is_a_row_and_the_rest_is_measured(bad: Bad) -> None:
    heard = []
    with bad.measurer() as measurer:
        rows = measurer.measure(bad.problem(), tuple(bad.candidates.values()), QUICK, heard.append)
    found = dict(zip(bad.candidates, rows, strict=True))
    assert {act: row.status.value for act, row in found.items()} == {
        "crashes": "crashed",
        "aborts": "crashed",
        "loops": "hung",
        "takes_all_memory": "out_of_memory",
        "writes_beside": "out_of_bounds",
        "right": "ok",
        "does_nothing": "wrong",
        "gives_garbage": "wrong",
        "adds_up": "wrong",
        "crashes_later": "crashed",
    }
    assert "SIGSEGV" in found["crashes"].reason and "SIGABRT" in found["aborts"].reason
    assert found["loops"].reason == "no answer after 0.4 s"
    assert found["writes_beside"].reason.startswith("C: byte 3840 was written")
    assert found["gives_garbage"].reason.startswith("C[0, 23, 39] is ")
    assert sorted(heard, key=lambda row: row.candidate) == sorted(rows, key=lambda row: row.candidate)
    for act, row in found.items():
        assert row.candidate == bad.candidates[act] and row.digest == measurer.digest
        assert (row.median_us > 0, row.runs > 0, row.checked == 24 * 40) == (row.status is MeasureStatus.OK,) * 3
        assert bool(row.reason) == (row.status is not MeasureStatus.OK)


def test_of_how_many_it_is_known_whether_they_are_right_is_told_as_they_are_verified(bad: Bad) -> None:
    told: list[object] = []
    three = tuple(bad.candidates[act] for act in ("crashes", "right", "does_nothing"))
    with bad.measurer() as measurer:
        measurer.compare(bad.problem(), three, (), QUICK, lambda row: told.append(row.status.value), told.append)
    assert told == ["crashed", 1, 2, "wrong", 3, "ok"]


def test_what_was_right_is_not_verified_again_in_another_process(bad: Bad) -> None:
    told: list[object] = []
    with bad.measurer() as measurer:
        for _ in range(2):
            found = measurer.compare(bad.problem(), (bad.candidates["right"],), (), QUICK, examined=told.append)
            assert found.outcome(bad.candidates["right"]).checked == 24 * 40
            measurer.renew()
    assert told == [1]


def test_what_was_timed_before_leaves_no_right_result_to_those_that_follow(bad: Bad) -> None:
    right, idle = (bad.candidates[act] for act in ("right", "does_nothing"))
    with bad.measurer() as measurer:
        before = measurer.measure(bad.problem(), (right,), QUICK)
        after = measurer.measure(bad.problem(), (idle, right), QUICK)
    assert [row.status for row in (*before, *after)] == [MeasureStatus.OK, MeasureStatus.WRONG, MeasureStatus.OK]
    assert (after[1].max_rel, after[1].checked) == (before[0].max_rel, before[0].checked)


def test_what_the_efforts_end_leaves_is_late_and_the_process_is_replaced(bad: Bad) -> None:
    both = tuple(bad.candidates[act] for act in ("loops", "right"))
    with bad.measurer() as measurer:
        late = measurer.measure(bad.problem(), both, replace(QUICK, ends=0.001))
        after = measurer.measure(bad.problem(), both[1:], QUICK)
    assert [row.status for row in (*late, *after)] == [MeasureStatus.LATE, MeasureStatus.LATE, MeasureStatus.OK]


def test_no_process_is_started_that_would_not_be_ready_before_the_efforts_end(
    bad: Bad, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = (bad.candidates["right"],)
    with bad.measurer() as measurer:
        measurer.measure(bad.problem(), right, QUICK)
        measurer.renew()
        with monkeypatch.context() as patch:
            patch.setattr(measurer, "_start", lambda: pytest.fail("it was started"))
            (late,) = measurer.measure(bad.problem(), right, replace(QUICK, ends=0.001))
        (after,) = measurer.measure(bad.problem(), right, replace(QUICK, ends=60.0))
    assert (late.status, after.status) == (MeasureStatus.LATE, MeasureStatus.OK)


def test_a_peer_is_timed_in_the_same_turns(bad: Bad) -> None:
    some = tuple(bad.candidates[act] for act in ("aborts", "right", "crashes_later"))
    with bad.measurer() as measurer:
        found = measurer.compare(bad.problem(), some, ("numpy", "torch"), QUICK)
    assert [found.outcome(one).status for one in some] == [
        MeasureStatus.CRASHED,
        MeasureStatus.OK,
        MeasureStatus.CRASHED,
    ]
    numpy, *torch = found.peers()
    assert (numpy.peer, numpy.name, numpy.reason) == ("numpy", "numpy matmul, out=", "")
    assert numpy.runs and numpy.median_us > 0 and numpy.max_rel < 1e-5
    assert all(bool(one.reason) != bool(one.runs) for one in torch)


def test_a_library_of_other_sources_is_refused(bad: Bad) -> None:
    other = replace(bad, contents=replace(bad.contents, signatures=("gemm_bf16_rcr",)))
    with other.measurer() as measurer, pytest.raises(CkgenError, match="is stale: it does not hold the instances"):
        measurer.candidates(bad.problem())


def test_what_no_kernel_can_run_is_refused_with_its_reason(bad: Bad) -> None:
    tiny = replace(bad.problem(), k=8)
    streamed = next(one for one in bad.candidates.values() if "x128x256_t0_streamk_" in one.instance)
    split = Candidate(next(one.instance for one in bad.candidates.values() if "_streamk_" not in one.instance), 2)
    with bad.measurer() as measurer:
        rows = measurer.measure(tiny, (streamed, split, Candidate("nothing")), QUICK)
    assert {row.status for row in rows} == {MeasureStatus.REFUSED}
    assert [row.reason for row in rows][2] == "the library has no instance nothing"
    assert "rule gemm.stream_k.too-few-tiles" in rows[0].reason and "rule gemm.instance" in rows[1].reason


_KILLED = """
import sys
from pathlib import Path
from ckgen.measure.conditions import Conditions, Limits, Place
from ckgen.measure.library import contents_of
from ckgen.measure.local import LocalMeasurer
from ckgen.measure.model import Candidate, Effort
from ckgen.fuzz.case import parse_case
library, contents, problem, instance = sys.argv[1:]
measurer = LocalMeasurer(Path(library), "bad", contents_of(contents), Place.HOST, Conditions(), Limits())
print(len(measurer.candidates(parse_case(problem))), measurer._process.pid, flush=True)
measurer.measure(parse_case(problem), [Candidate(instance)], Effort())
"""


def test_no_worker_outlives_who_asked_it(bad: Bad) -> None:
    words = (str(bad.library), bad.contents.text(), bad.problem().text(), bad.candidates["loops"].instance)
    env = {**os.environ, "PYTHONPATH": str(paths.package_dir().parent)}
    asking = subprocess.Popen([sys.executable, "-c", _KILLED, *words], env=env, stdout=subprocess.PIPE, text=True)
    with asking:
        assert asking.stdout is not None
        count, worker = map(int, asking.stdout.readline().split())
        time.sleep(1)  # by then it loops
        asking.kill()
    assert count == bad.count
    until = time.monotonic() + 30
    while is_alive(worker) and time.monotonic() < until:
        time.sleep(0.05)
    outlived = is_alive(worker)
    if outlived:
        os.kill(worker, signal.SIGKILL)
    assert not outlived


def is_alive(pid: int) -> bool:
    """Whether it still does anything: one that nobody has waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] not in "ZX"
    except OSError:
        return False
