"""What a tune loses to an exhaustive search and what it costs of one: products on this CPU, all of set `full`."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, log
from pathlib import Path

from support import Row, Run, main

from ckgen.families.kernel_sets import kernel_set_files
from ckgen.fuzz.case import Case
from ckgen.measure.local import LocalMeasurer, local_measurer
from ckgen.measure.model import Candidate, Effort, Measured
from ckgen.model.target import Target
from ckgen.specs.native import own_cpu
from ckgen.tune.search import CONFIRM, SECOND, Rung, search
from ckgen.tune.ties import fastest

SIGNATURE = "gemm_fp32_rcr"
SHAPES = ((1, 4096, 512), (16, 768, 4096), (64, 1536, 1024), (128, 640, 2048))
AGAIN = Effort(seconds=6.0, least=9, most=61, still=0.005, sample=0.01)
"""Of both winners, once more, in turns."""
_VERIFIED = Effort(seconds=0.0, least=1, most=1, sample=0.0)
"""Verification, which either search does once for each candidate, is no part of the figures."""


@dataclass(frozen=True)
class Found:
    """Of one problem: the tuned winner's time over the exhaustive one's, and seconds of both searches."""

    regret: float
    tuned: float
    exhaustive: float
    candidates: int


def rows(run: Run) -> Iterator[Row]:
    """The regret and the cost, of all shapes."""
    if not any(map(run.wants, ("regret", "cost"))):
        return
    target = Target(own_cpu().gfx, run.threads)
    sets = tuple(kernel_set_files(Path("full"), ("gemm",)))
    shapes = SHAPES[:1] if run.quick else SHAPES
    with local_measurer(target, ("gemm",), (SIGNATURE,), kernel_sets=sets) as measurer:
        found = [_compared(measurer, Case(SIGNATURE, str(target), m=m, n=n, k=k), run.quick) for m, n, k in shapes]
    what = f"{SIGNATURE}, {found[0].candidates} candidates"
    told = ", ".join(f"{m} × {n} × {k}" for m, n, k in shapes)
    regret = exp(sum(log(one.regret) for one in found) / len(found))
    worst = max(one.regret for one in found)
    if run.wants("regret"):
        peers = {"worst": worst}
        yield run.counted(
            "regret", f"tuned winner's time over an exhaustive search's, {what}", told, "×", regret, peers
        )
    if run.wants("cost"):
        cost = sum(one.tuned for one in found) / sum(one.exhaustive for one in found)
        yield run.counted("cost", f"seconds of a tune over those of an exhaustive search, {what}", told, "share", cost)


def _compared(measurer: LocalMeasurer, problem: Case, is_quick: bool) -> Found:
    candidates = measurer.candidates(problem)
    selected = measurer.selected(problem)

    def measure(rung: Rung, some: Sequence[Candidate]) -> Mapping[Candidate, Measured]:
        effort = _VERIFIED if is_quick else rung.effort
        return {one.candidate: one for one in measurer.measure(problem, some, effort)}

    measurer.measure(problem, candidates, _VERIFIED)
    began = time.perf_counter()
    tuned = fastest(search(candidates, [selected] if selected is not None else [], measure).confirmed.values())
    halfway = time.perf_counter()
    best = fastest(measure(_to_the_end(len(candidates)), candidates).values())
    ended = time.perf_counter()
    assert tuned is not None
    assert best is not None
    both = list(dict.fromkeys((tuned.candidate, best.candidate)))
    again = {one.candidate: one for one in measurer.measure(problem, both, AGAIN)}
    regret = again[tuned.candidate].median_us / again[best.candidate].median_us
    return Found(regret, halfway - began, ended - halfway, len(candidates))


def _to_the_end(candidates: int) -> Rung:
    """The last rung, with its time for the last few of a tune for every few of all: as certain of each."""
    share = candidates / (SECOND.least + 1)
    return replace(CONFIRM, effort=replace(CONFIRM.effort, seconds=CONFIRM.effort.seconds * max(share, 1)))


if __name__ == "__main__":
    main(rows, __doc__)
