"""What a tune with a part of an exhaustive search's time loses to it: this CPU's search spaces, all of set `full`.

Of each space two rows: `regret-NAME` is the tuned winner's time over the exhaustive one's, both timed once more in
turns in fresh processes; `cost-NAME` the tune's seconds over the exhaustive search's. A tune gets a quarter of these as
its `--budget` where a problem has fewer than 200 candidates, and a tenth beyond, as `wide` has. Counted are candidates
that run here: a level of CPUs does not have every register tile. Both searches verify all before, which costs neither.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import exp
from pathlib import Path
from statistics import fmean

from support import Row, Run, main

from ckgen.build.packages.place import cache_room
from ckgen.families.kernel_sets import kernel_set_files
from ckgen.measure.local import LocalMeasurer, local_measurer
from ckgen.measure.model import Candidate, Effort, MeasureStatus
from ckgen.model.target import Target
from ckgen.specs.native import own_cpu
from ckgen.tune.asked import ops_to_plan
from ckgen.tune.journal import Contents, Header, Journal
from ckgen.tune.losses import Turn, differences, location
from ckgen.tune.problems import Key, Problem, in_ladders, of_counts
from ckgen.tune.run import Options, Tuner
from ckgen.tune.ties import fastest

MOE = "moe_bf16_rcr_layer_gated_epi_silu"
GROUPED = "grouped_gemm_bf16_rcr"
SPACES = {
    "fp32": [Key("gemm_fp32_rcr", 0, m, n, k) for m, n, k in ((1, 4096, 512), (64, 1536, 1024))],
    "bf16": [Key("gemm_bf16_rcr", 0, m, n, k) for m, n, k in ((16, 768, 4096), (128, 640, 2048))],
    "grouped": [Key(GROUPED, 0, 64, 768, 1024, sizes="64x768x1024;3*16x768x1024")],
    "moe": [Key(MOE, 0, 4, 176, 1024, 16, 4)],
    "wide": [Key("gemm_bf16_rcr", 0, m, n, k) for m, n, k in ((1, 1536, 1024), (16, 768, 2048), (96, 640, 1024))],
}
"""By figure; attention has two kernels here, and quantized GEMMs four: there is nothing to search. Set `full` has every
blocking and strategy of this CPU, and no splits apply: fewer than 200 candidates of a problem; with `_WIDE` beside it
more, whatever register tiles its level has."""
_BLOCKS = product((24, 48, 96, 144, 192), (256, 512, 768, 1024), (256, 512, 1024))
_WIDE = f"""op: gemm
name: wide
signatures: [bf16]
backend: host
targets: "*"
configs:
  register: "*"
  block: [{", ".join(f"{m}x{n}x{k}" for m, n, k in _BLOCKS)}]
"""
_MANY, _PART, _PART_OF_MANY = 200, 0.24, 0.095
"""Candidates from which on a tune has the smaller part of an exhaustive search's seconds; it may end 2 % later."""
_EXHAUSTIVE = Effort(seconds=0.5, least=7, most=41, still=0.01, sample=0.005)
"""Of each candidate: so its median is known to about a per cent."""
_AGAIN, _PROCESSES = Effort(seconds=4.0, least=25, most=99, still=0.003, sample=0.005, outlier=0.1), 5
"""Of both winners, once more, in turns, in each of some processes; samples that something disturbed are taken again, or
the ratio of a kernel's times to its own would be off by per cents on a machine that others use too."""
_ONCE = Effort(seconds=0.0, least=1, most=1, sample=0.0)
"""What verifies."""


@dataclass
class Found:
    """The logarithms of tuned winners' times over the exhaustive ones', by problem; seconds of both searches, the most
    candidates of a problem, and how many the tunes did not reach."""

    regrets: list[float]
    tuned: float
    exhaustive: float
    candidates: int
    late: int


def rows(run: Run) -> Iterator[Row]:
    """The regret and the cost, of each space."""
    for name, keys in SPACES.items():
        if any(map(run.wants, (f"regret-{name}", f"cost-{name}"))):
            yield from _of_space(run, name, keys[:1] if run.quick else keys)


def _of_space(run: Run, name: str, keys: Sequence[Key]) -> Iterator[Row]:
    target = Target(own_cpu().gfx, run.threads)
    signature = keys[0].signature
    ops = tuple(sorted(ops_to_plan((signature,))))
    sets = tuple(kernel_set_files(Path("full"), ops))
    if name == "wide":
        wide = cache_room("bench") / "wide.yaml"  # where it lies is a part of what is built
        wide.write_text(_WIDE, encoding="utf-8")
        sets = (*sets, wide)
    problems = of_counts(dict.fromkeys(keys, 1), target)
    with local_measurer(target, ops, (signature,), kernel_sets=sets) as measurer:
        found = _searched(measurer, problems, run, name)
    what, told = f"{signature}, {found.candidates} candidates", "; ".join(map(_sizes, keys))
    if run.wants(f"regret-{name}"):
        regret = exp(fmean(found.regrets))
        about = f"tuned winner's time over an exhaustive search's, {what}"
        yield run.counted(f"regret-{name}", about, told, "×", regret, {"worst": exp(max(found.regrets))})
    if run.wants(f"cost-{name}"):
        about = f"seconds of a tune over those of an exhaustive search, {what}"
        seconds = {"tune": f"{found.tuned:.1f} s, {found.late} not timed", "exhaustive": f"{found.exhaustive:.1f} s"}
        yield run.counted(f"cost-{name}", about, told, "share", found.tuned / found.exhaustive, seconds)


def _sizes(key: Key) -> str:
    routing = f", {key.top_k} of {key.experts} experts" if key.experts else ""
    return key.sizes or f"{key.m} × {key.n} × {key.k}{routing}"


def _searched(measurer: LocalMeasurer, problems: Sequence[Problem], run: Run, name: str) -> Found:
    """One problem after the other, as a process keeps what it verified of the last one."""
    found = Found([], 0.0, 0.0, 0, 0)
    with Journal(run.folder / f"{name}.jsonl", Header(measurer.digest, measurer.environment())) as journal:
        for one in problems:
            every = measurer.candidates(one.case)
            candidates = _verified(measurer, one, every)
            began = time.perf_counter()
            best = _exhaustive(measurer, one, candidates, is_quick=run.quick)
            exhaustive = time.perf_counter() - began
            budget = 10.0 if run.quick else exhaustive * (_PART if len(candidates) < _MANY else _PART_OF_MANY)
            _verified(measurer, one, every)
            began = time.perf_counter()
            outcome = Tuner(measurer, journal, Contents(), Options(budget, min_improvement=0)).tune(in_ladders([one]))
            found.tuned += time.perf_counter() - began
            found.exhaustive += exhaustive
            found.candidates = max(found.candidates, len(candidates))
            found.late += outcome.late
            (end,) = outcome.every
            if end.winner is None:
                sys.exit(f"{one.key}: {budget:.1f} s tuned nothing")
            found.regrets.append(_regret(measurer, one, end.winner.candidate, best, is_quick=run.quick))
    return found


def _verified(measurer: LocalMeasurer, problem: Problem, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Those that run, each verified by a fresh process."""
    measurer.renew()
    found = measurer.measure(problem.case, candidates, _ONCE)
    return [one.candidate for one in found if one.status is MeasureStatus.OK]


def _exhaustive(
    measurer: LocalMeasurer, problem: Problem, candidates: Sequence[Candidate], *, is_quick: bool
) -> Candidate:
    effort = _ONCE if is_quick else replace(_EXHAUSTIVE, seconds=_EXHAUSTIVE.seconds * len(candidates))
    best = fastest(measurer.measure(problem.case, candidates, effort))
    assert best is not None
    return best.candidate


def _regret(measurer: LocalMeasurer, problem: Problem, tuned: Candidate, best: Candidate, *, is_quick: bool) -> float:
    """The logarithm of both times' ratio."""
    if tuned == best:
        return 0.0
    turns: list[Turn] = []
    for _ in range(1 if is_quick else _PROCESSES):
        measurer.renew()
        again = measurer.measure(problem.case, [tuned, best], _ONCE if is_quick else _AGAIN)
        turns.append({one.candidate: one for one in again})
    return location(differences(turns, tuned, best))


if __name__ == "__main__":
    main(rows, __doc__)
