"""Rows of a table stay that hold in both halves of the rounds of a journal."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from ckgen.measure.environment import environment
from ckgen.measure.model import Candidate, Measured, MeasureStatus
from ckgen.model.target import Target
from ckgen.tune.journal import Header, Journal
from ckgen.tune.problems import Key, case_of
from ckgen.tune.search import NAMES
from plan_support import write_table
from rows_by_halves import main

TARGET = Target("x86_64_amx", 2, "emeraldrapids")
SIGNATURE = "gemm_fp32_rcr"
WINNER, SELECTED = (f"{SIGNATURE}_host_{tile}_96x512x512_t0" for tile in ("8x48", "14x32"))
HEADER = "gfx,cu_num,sku,signature,B,M,N,K,experts,top_k,sizes,kernelName,splitK,us,runs"


@pytest.mark.parametrize(
    ("rounds", "kept"),
    [
        ([90, 90, 91, 90], 1),
        ([90, 99, 91, 99], 0),
        ([90, 101, 91, 101], 0),
        ([101, 90, 101, 91], 0),
        ([90], 0),
    ],
)
def test_a_row_saves_time_in_both_halves(rounds: list[int], kept: int, tmp_path: Path) -> None:
    row = f"x86_64_amx,2,emeraldrapids,{SIGNATURE},0,16,512,256,0,0,,{WINNER},1,90,12"
    table = write_table(tmp_path / "tuned.csv", [row], HEADER)
    problem = case_of(Key(SIGNATURE, 0, 16, 512, 256), TARGET).text()
    path = tmp_path / "tuned.jsonl"
    with Journal(path, Header("1", environment(TARGET))) as journal:
        journal.asked(problem, Candidate(SELECTED, 1))
        for turn, us in enumerate(rounds, 1):
            for name, time in ((WINNER, us), (SELECTED, 100)):
                took = Measured(Candidate(name, 1), MeasureStatus.OK, median_us=float(time), runs=3)
                journal.measured(problem, NAMES[-1], turn, took, turn)
    found = CliRunner().invoke(main, [str(table), str(path)])
    assert found.output == f"{table}: {kept} of 1 rows\n", found.output
    assert len(table.read_text(encoding="utf-8").splitlines()) == 1 + kept
