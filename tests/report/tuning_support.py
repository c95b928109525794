"""A journal of a tune of made-up times: two ladders of four M, twelve candidates, one that is wrong."""

from __future__ import annotations

from pathlib import Path

from ckgen.measure.model import MeasureStatus
from ckgen.model.target import Target
from ckgen.tune.journal import Header, Journal, read_journals
from ckgen.tune.known import Known
from ckgen.tune.outcome import Outcome
from ckgen.tune.problems import Key, in_ladders, of_counts
from ckgen.tune.run import Options, Tuner
from tune.fake_measurer import ENVIRONMENT, FakeMeasurer

NAMES = [f"gemm_bf16_rcr_host_{index:02}" for index in range(12)]
HEADER = Header("c0de", ENVIRONMENT, "warmup=50")
KEYS = [Key("gemm_bf16_rcr", 0, m, n, 64) for m in (1, 2, 4, 8) for n in (64, 128)]


def tune_into(path: Path, min_improvement: float = 0.02) -> tuple[Outcome, Known]:
    """The tune's own end."""
    fake = FakeMeasurer(NAMES, noise=0.8, ends={NAMES[7]: MeasureStatus.WRONG}, usual=NAMES[3])
    ladders = in_ladders(of_counts(dict.fromkeys(KEYS, 1), Target("x86_64_v4", 2)))
    with Journal(path, HEADER) as journal:
        tuner = Tuner(fake, journal, read_journals([]), Options(min_improvement=min_improvement))
        return tuner.tune(ladders), tuner.known


def journal_of_a_tune(path: Path) -> Path:
    """The journal, written."""
    tune_into(path)
    return path
