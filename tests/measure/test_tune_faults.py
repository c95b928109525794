"""`ckgen tune` over kernels that misbehave, and over a library that changes meanwhile: its end, and what it keeps."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import Result

from bad_library import Bad
from ckgen.measure.local import LocalMeasurer
from ckgen.tune.journal import read_journals
from commands import run

pytestmark = pytest.mark.cpp
Tune = Callable[..., Result]


@pytest.fixture
def tuned(bad: Bad, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tune:
    """Tunes some of the kernels, of a copy of the library; `meanwhile` is called when the tune has begun."""
    copy = replace(bad, library=tmp_path / "lib.so")
    shutil.copy(bad.library, copy.library)
    (tmp_path / "shapes.csv").write_text("signature,B,M,N,K,experts,top_k,count\ngemm_fp32_rcr,0,24,40,4096,0,0,1\n")
    monkeypatch.chdir(tmp_path)

    def tune(*acts: str, meanwhile: Callable[[], object] = lambda: None) -> Result:
        @contextmanager
        def local(*_: object, **options: object) -> Iterator[LocalMeasurer]:
            with copy.measurer() as measurer:
                measurer.candidates(bad.problem())
                meanwhile()
                yield measurer

        monkeypatch.setattr("ckgen.measure.local.local_measurer", local)
        kernels = [word for act in acts for word in ("--kernels", bad.candidates[act].instance)]
        words = ("--shapes", "shapes.csv", "--out", "t.csv", "--min-improvement", "0", "--budget", "60s")
        return run("tune", "gemm", "--target", str(bad.contents.target), *words, *kernels)

    return tune


def test_four_faults_are_four_rows_and_the_table_is_written(bad: Bad, tuned: Tune) -> None:
    done = tuned("writes_beside", "loops", "gives_garbage", "aborts", "right")
    kept = {
        one.measured.candidate: one.measured.status.value
        for one in read_journals([Path("t.csv.journal.jsonl")]).records
    }
    assert kept == {
        bad.candidates["writes_beside"]: "out_of_bounds",
        bad.candidates["loops"]: "hung",
        bad.candidates["gives_garbage"]: "wrong",
        bad.candidates["aborts"]: "crashed",
        bad.candidates["right"]: "ok",
    }
    assert done.exit_code == 1 and "4 failures" in done.stdout
    assert bad.candidates["right"].instance in Path("t.csv").read_text()


def test_a_library_that_is_built_anew_meanwhile_ends_it_with_a_sentence(bad: Bad, tuned: Tune) -> None:
    """What was known before is in the journal; there is no table of two libraries."""
    done = tuned("aborts", "right", meanwhile=lambda: os.truncate("lib.so", Path("lib.so").stat().st_size + 1))
    assert (done.exit_code, Path("t.csv").exists()) == (4, False)
    said = done.stderr.splitlines()[-1]
    assert said.startswith("error: ") and "lib.so is another file than when this began (" in said
    assert said.endswith("it was built anew meanwhile; measure again")
    (record,) = read_journals([Path("t.csv.journal.jsonl")]).records
    assert (record.measured.candidate, record.measured.status.value) == (bad.candidates["aborts"], "crashed")
