"""Examples of the journals of `ckgen tune --exhaustive`: of each problem every candidate's time."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping

from ckgen.families.common.decision_rule import Asked, Leaf
from ckgen.families.common.instance_names import read_instance_name
from ckgen.families.gemm.config import GemmConfig
from ckgen.families.gemm.config_names import parse_config
from ckgen.families.gemm.signature import GemmSignature, parse_canonical
from ckgen.fuzz.case import Case, parse_case
from ckgen.fuzz.decision import target_named
from ckgen.learn.examples import Cost, Example
from ckgen.measure.model import Candidate, Measured, MeasureStatus
from ckgen.model.target import Target
from ckgen.tune.journal import Contents, Record
from ckgen.tune.search import NAMES

_SIGMA_OF_SPREAD = 1 / 0.6745
"""Of a normal distribution, half of what lies between the quartiles is 0.6745 sigma."""
_ERROR_OF_MEDIAN = math.sqrt(math.pi / 2)
"""The median of n values of a normal distribution varies by this times sigma / sqrt(n)."""


def examples_of_journals(contents: Contents, signature: str, arch: str) -> tuple[Example, ...]:
    """The problems of a signature on an arch, in the journals' order, at the last rung that each candidate reached.

    Of several turns there the first counts, which timed all that reached it in one process.
    A problem that fewer than two candidates were timed for teaches nothing and is left out. Of one that was timed
    again, on another device or by another library, each time counts as an example.
    """
    times: dict[tuple[str, str], dict[Candidate, Record]] = defaultdict(dict)
    for record in contents.records:
        if record.measured.status is MeasureStatus.OK:
            known = times[record.code, record.problem].get(record.measured.candidate)
            if known is None or NAMES.index(record.rung) > NAMES.index(known.rung):
                times[record.code, record.problem][record.measured.candidate] = record
    selected = {(one.code, one.problem): one.selected for one in contents.asked}
    devices = {header.code: header.environment.device for header in contents.headers}
    found = []
    for (code, problem), records in times.items():
        case = parse_case(problem)
        target = target_named(case.target)
        if case.signature != signature or target.gfx != arch or len(records) < 2:
            continue
        measured = {one: record.measured for one, record in records.items()}
        found.append(_example(case, target, measured, selected.get((code, problem)), devices[code]))
    return tuple(found)


def _example(
    case: Case, target: Target, times: Mapping[Candidate, Measured], selected: Candidate | None, device: str
) -> Example:
    costs = {leaf_of(one): Cost(measured.median_us, _error(measured)) for one, measured in times.items()}
    winner = min(costs, key=lambda leaf: (costs[leaf].us, leaf))
    asked = Asked(case.m, case.n, case.k, case.m, target.cu_num)
    taken = leaf_of(selected) if selected is not None else None
    return Example(asked, case.entries, winner, costs[winner].us, device, costs, taken, target.sku)


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
