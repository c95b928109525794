"""Examples of the journals of `ckgen tune --exhaustive`: of each problem every candidate's time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ckgen.families.common.decision_rule import Asked, Leaf
from ckgen.families.common.instance_names import read_instance_name
from ckgen.families.gemm.config import GemmConfig
from ckgen.families.gemm.config_names import parse_config
from ckgen.families.gemm.signature import GemmSignature, parse_canonical
from ckgen.fuzz.case import Case, parse_case
from ckgen.fuzz.decision import target_named
from ckgen.learn.examples import Cost, Example
from ckgen.measure.model import Candidate, Measured
from ckgen.model.halves import Halves
from ckgen.model.target import Target
from ckgen.tune.journal import Contents
from ckgen.tune.known import known_by_code
from ckgen.tune.losses import Turn, halves, losses
from ckgen.tune.search import NAMES
from ckgen.tune.ties import standard_error

_SIGMA_OF_SPREAD = 1 / 0.6745
"""Of a normal distribution, half of what lies between the quartiles is 0.6745 sigma."""
_ERROR_OF_MEDIAN = math.sqrt(math.pi / 2)
"""The median of n values of a normal distribution varies by this times sigma / sqrt(n)."""


def examples_of_journals(contents: Contents, signature: str, arch: str) -> tuple[Example, ...]:
    """The problems of a signature on an arch, in the journals' order, at the last rung that each candidate reached.

    Of several turns there all count, by what candidates lose to each other within them.
    A problem that fewer than two candidates were timed for teaches nothing and is left out. Of one that was timed
    again, on another device or by another library, each time counts as an example.
    """
    known = known_by_code(contents.records, NAMES)
    problems = dict.fromkeys((one.code, one.problem) for one in contents.records)
    selected = {(one.code, one.problem): one.selected for one in contents.asked}
    devices = {header.code: header.environment.device for header in contents.headers}
    found = []
    for code, problem in problems:
        case = parse_case(problem)
        target = target_named(case.target)
        if case.signature != signature or target.gfx != arch:
            continue
        turns, best = known[code].turns(problem), known[code].best(problem)
        if len(best) > 1:
            found.append(_example(case, target, turns, best, selected.get((code, problem)), devices[code]))
    return tuple(found)


def _example(
    case: Case,
    target: Target,
    turns: Sequence[Turn],
    best: Mapping[Candidate, Measured],
    selected: Candidate | None,
    device: str,
) -> Example:
    errors = _errors_between(turns)
    costs = {leaf_of(one): Cost(had.median_us, errors.get(one, _error(had))) for one, had in best.items()}
    winner = min(costs, key=lambda leaf: (costs[leaf].us, leaf))
    asked = Asked(case.m, case.n, case.k, case.m, target.cu_num)
    taken = leaf_of(selected) if selected is not None else None
    times = halves(turns)
    by_leaf = Halves(*({leaf_of(one): us for one, us in half.items()} for half in (times.odd, times.even)))
    return Example(asked, case.entries, winner, costs[winner].us, device, costs, taken, target.sku, by_leaf)


def _errors_between(turns: Sequence[Turn]) -> Mapping[Candidate, float]:
    """Standard errors of losses, of what several turns tell."""
    found = losses(turns) if len(turns) > 1 else None
    return {one: standard_error(loss) for one, loss in found.of.items() if loss.count > 1} if found is not None else {}


def _error(measured: Measured) -> float:
    return _ERROR_OF_MEDIAN * _SIGMA_OF_SPREAD * measured.spread / math.sqrt(max(measured.runs, 1))


def leaf_of(candidate: Candidate) -> Leaf:
    """An instance by its Config's text, as rules of a signature name it."""
    found: tuple[GemmSignature, GemmConfig] | None = read_instance_name(
        candidate.instance, parse_canonical, parse_config
    )
    assert found is not None, candidate.instance
    config = found[1]
    return Leaf(str(config.backend), config.text(), candidate.k_batch)
