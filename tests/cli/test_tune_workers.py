"""`ckgen tune` on the workers of a cluster, and in the dialect of kernels for few rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from cli_support import write
from tune_support import SHAPES, TUNE, OfSignature, here, rows

from ckgen.cluster import Lost
from ckgen.tune.journal import read_journals
from commands import as_json, ok, run
from tune.fake_measurer import FakeMeasurer


def test_workers_write_the_same_table(fake: OfSignature, monkeypatch: pytest.MonkeyPatch) -> None:
    ok(*TUNE)
    monkeypatch.setattr("ckgen.tune.remote.timed_on", here)
    ok(*TUNE, "--out", "w.csv", "--scheduler", "local")
    assert rows("w.csv") == rows()
    own, theirs = (read_journals([Path(f"{name}.csv.journal.jsonl")]).records for name in "tw")
    assert {(one.key, one.measured) for one in theirs} == {(one.key, one.measured) for one in own}


def test_problems_of_workers_that_died_are_a_finding(fake: OfSignature, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ckgen.tune.remote.timed_on", lambda tasks, *_: ((task, Lost()) for task in tasks))
    done = run(*TUNE, "--scheduler", "local")
    assert done.exit_code == 1 and "4 problems without a row: every worker that had it died" in done.stdout


def test_what_is_not_for_workers_is_refused(fake: OfSignature) -> None:
    assert "local:N" in run(*TUNE, "--scheduler", "local:0").stderr


def test_workers_take_few_kernels_as_one_machine_does(fake: OfSignature, monkeypatch: pytest.MonkeyPatch) -> None:
    ok(*TUNE, "--within", "20%")
    monkeypatch.setattr("ckgen.tune.remote.timed_on", here)
    text = ok(*TUNE, "--out", "w.csv", "--scheduler", "local", "--within", "20%")
    assert "no fewer would do" in text
    assert [one["kernelName"] for one in rows("w.csv")] == [one["kernelName"] for one in rows()]


MXFP8 = "gemm_fp8_ocp_bf16_rcr_mx"


class FewRows(OfSignature):
    """Kernels for few rows, of a GPU."""

    def candidates(self, problem):  # type: ignore[no-untyped-def]
        self.names = [f"{MXFP8}_hip_mxfp8_mfma_m{problem.m}_n1x16_k{splits}" for splits in (2, 4, 8)]
        return FakeMeasurer.candidates(self, problem)


def test_the_dialect_of_kernels_for_few_rows_is_written(
    fake: OfSignature, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if there were such a GPU."""
    made = FewRows([])

    @contextmanager
    def local(*_: object, **options: Any) -> Iterator[OfSignature]:
        yield made

    monkeypatch.setattr("ckgen.measure.local.local_measurer", local)
    monkeypatch.setattr("ckgen.measure.local.demand_place", lambda _: None)
    lines = "".join(f"{MXFP8},0,{m},1536,6144,0,0,1\n" for m in (8, 32))
    write(tmp_path, {"m.csv": SHAPES.splitlines(keepends=True)[0] + lines, "own.csv": "K,N,M,us\n6144,1536,32,1\n"})
    words = ("tune", "mxfp8", "--shapes", "m.csv", "--target", "gfx950", "--dialect", "mxfp8", "--caller", "own.csv")
    document = as_json(*words, "--out", "t.csv")
    won = {one["problem"].split("M=")[1].split()[0]: one["instance"] for one in document["problems"]}
    found = [(one["M"], one["kernel"], one["use_hip"]) for one in rows()]
    assert found == [("8", "mfma", "1"), ("32", "mfma", "0")]
    assert [one["k_splits"] for one in rows()] == [won[m].rsplit("_k")[1] for m in ("8", "32")]
    asked = ("--target", "gfx950", "--signature", MXFP8, "--tuning", "t.csv")
    answer = as_json("lookup", "gemm", *asked, "--shape", "8,1536,6144")
    assert (answer["tier"], answer["instance"]) == ("exact", won["8"])


def test_a_dialect_has_rows_of_its_own_signature_alone(fake: OfSignature) -> None:
    done = run(*TUNE, "--dialect", "mxfp8")
    assert done.exit_code == 2 and "none of gemm_bf16_rcr, gemm_fp16_rcr" in done.stderr
    assert "--caller is for --dialect mxfp8" in run(*TUNE, "--caller", "own.csv").stderr
    assert fake.calls == 0
