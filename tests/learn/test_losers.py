"""Times of losers in journals: of their own target and signature alone, and what a fit makes of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ckgen.cli.predict_input import weighed_sets
from ckgen.families.gemm.signature import parse_canonical
from ckgen.fuzz.case import Case
from ckgen.learn.losers import times_of_losers
from ckgen.measure.model import Candidate, Environment, Measured, MeasureStatus
from ckgen.model.target import Target
from ckgen.paths import root
from ckgen.predict.arrays import Weighed
from ckgen.predict.fit import fit
from ckgen.tune.journal import Header, Journal, read_journals
from ckgen.tune.search import NAMES
from learn.learn_support import KERNELS, LAYERS, SIGNATURE, name_of, true_us, write_journal

BLOCKS = "gemm_fp8_ocp_bf16_rcr_blockscale"
TABLE = root() / "tuning" / "ckgen" / "hopper_fp8_tuned_gemm.csv"
LOSER = f"{BLOCKS}_cutlass_64x64x128_1x1_kc2"


def journal(path: Path, one: Weighed) -> Path:
    """Of rows of up to 512 rows of A, which the loser did not win: it took three times as long as the winner."""
    target = str(one.found.target)
    with Journal(path, Header("0" * 16, Environment("NVIDIA H200", target, "1", 1, ()))) as kept:
        for turn, row in enumerate(one.found.rows):
            shape, winner = row.shape, one.found.candidates[row.winner][0].name
            if shape.m <= 512 and winner != LOSER:
                text = Case(BLOCKS, target, m=shape.m, n=shape.n, k=shape.k).text()
                took = Measured(Candidate(LOSER, 1), MeasureStatus.OK, median_us=3 * row.us, spread=0.01, runs=5)
                kept.measured(text, NAMES[-1], turn, took)
    return path


def test_of_several_rounds_all_say_what_a_loser_took(tmp_path: Path) -> None:
    path = write_journal(tmp_path / "j", layers=LAYERS[:1], turns=(1.0, 1.0, 2.0))
    found = times_of_losers(read_journals([path]), parse_canonical(SIGNATURE), Target("x86_64_v4", 2))
    for shape, times in found.items():
        true = true_us(KERNELS[0], shape.m, shape.n, shape.k)
        assert true <= times[name_of(KERNELS[0]), 1] < 1.5 * true


def test_losers_that_took_long_are_predicted_slower(tmp_path: Path) -> None:
    asked = {"arch": "sm_90a", "module": "a8w8_blockscale", "tables": (TABLE,)}
    ((*_, plain),) = weighed_sets(asked)
    ((first, told),) = weighed_sets({**asked, "journals": (journal(tmp_path / "j.jsonl", plain),)})
    assert not first.lost  # the other product's rows have no such times
    names = [instance.name for instance, _ in told.found.candidates]
    rows = np.arange(len(told.found.rows))
    took = told.took[rows, names.index(LOSER)]
    timed = ~np.isnan(took)
    assert timed.sum() == len(told.lost) > 400
    assert all(took[at] == 3 * told.found.rows[at].us for at in rows[timed])
    usual, other = fit([plain]), fit([told])
    assert usual is not None and other is not None
    grown = (told.predicted(other) / told.predicted(usual))[timed, names.index(LOSER)]
    assert np.median(grown) > 1.3
