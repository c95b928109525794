"""What a tune loses to an exhaustive search and what it costs of one: this CPU's search spaces, all of set `full`."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import exp
from pathlib import Path
from statistics import fmean

from support import Row, Run, main

from ckgen.families.kernel_sets import kernel_set_files
from ckgen.measure.local import LocalMeasurer, local_measurer
from ckgen.measure.model import Candidate, Effort
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
}
"""By figure; attention has two kernels here, and quantized GEMMs four: there is nothing to search. Set `full` has every
blocking and strategy of this CPU, and no splits apply: so a problem has 167 candidates at most, of bf16 and fp32."""
_EXHAUSTIVE = Effort(seconds=1.25, least=7, most=41, still=0.01, sample=0.005)
"""Of each candidate: so its median is known to about a per cent."""
_AGAIN, _PROCESSES = Effort(seconds=3.0, least=9, most=41, still=0.005, sample=0.01), 3
"""Of both winners, once more, in turns, in each of some processes."""
_ONCE = Effort(seconds=0.0, least=1, most=1, sample=0.0)
"""Verification, which either search does once for each candidate, is no part of the figures."""


@dataclass(frozen=True)
class Found:
    """The tuned winners' times over the exhaustive ones', by problem, seconds of both searches, and all candidates."""

    regrets: list[float]
    tuned: float
    exhaustive: float
    candidates: int


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
    problems = of_counts(dict.fromkeys(keys, 1), target)
    with local_measurer(target, ops, (signature,), kernel_sets=sets) as measurer:
        found = _searched(measurer, problems, run)
    what, told = f"{signature}, {found.candidates} candidates", "; ".join(map(_sizes, keys))
    if run.wants(f"regret-{name}"):
        regret = exp(fmean(found.regrets))
        about = f"tuned winner's time over an exhaustive search's, {what}"
        yield run.counted(f"regret-{name}", about, told, "×", regret, {"worst": exp(max(found.regrets))})
    if run.wants(f"cost-{name}"):
        about = f"seconds of a tune over those of an exhaustive search, {what}"
        yield run.counted(f"cost-{name}", about, told, "share", found.tuned / found.exhaustive)


def _sizes(key: Key) -> str:
    routing = f", {key.top_k} of {key.experts} experts" if key.experts else ""
    return key.sizes or f"{key.m} × {key.n} × {key.k}{routing}"


def _searched(measurer: LocalMeasurer, problems: Sequence[Problem], run: Run) -> Found:
    candidates = {one: measurer.candidates(one.case) for one in problems}
    for one in problems:
        measurer.measure(one.case, candidates[one], _ONCE)
    began = time.perf_counter()
    with Journal(run.folder / f"{problems[0].key.signature}.jsonl", _header(measurer)) as journal:
        options = Options(budget=1.0 if run.quick else None, min_improvement=0)
        outcome = Tuner(measurer, journal, Contents(), options).tune(in_ladders(problems))
    halfway = time.perf_counter()
    best = {one: _exhaustive(measurer, one, candidates[one], is_quick=run.quick) for one in problems}
    ended = time.perf_counter()
    tuned = {one.problem: one.winner.candidate for one in outcome.every if one.winner is not None}
    regrets = [_regret(measurer, one, tuned[one], best[one], is_quick=run.quick) for one in tuned]
    return Found(regrets, halfway - began, ended - halfway, max(map(len, candidates.values())))


def _header(measurer: LocalMeasurer) -> Header:
    return Header(measurer.digest, measurer.environment())


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
