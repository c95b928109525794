"""Times of losers, from journals of `ckgen tune --exhaustive`: tables tell those of winners alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from ckgen.families.gemm.signature import GemmSignature
from ckgen.fuzz.case import parse_case
from ckgen.fuzz.decision import target_named
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape
from ckgen.tune.journal import Contents
from ckgen.tune.known import known_by_code
from ckgen.tune.search import NAMES


def times_of_losers(
    contents: Contents, signature: GemmSignature, target: Target
) -> Mapping[Shape, Mapping[tuple[str, int], float]]:
    """Microseconds of each problem's kernels, by name and splits of K, each at the last rung that it reached, of
    several turns there what all say.

    Of one signature on one target; a problem without a batch has a batch of one.
    """
    name = signature.canonical()
    problems = {one.problem: parse_case(one.problem) for one in contents.records}
    shapes = {
        text: Shape(case.entries, case.m, case.n, case.k)
        for text, case in problems.items()
        if case.signature == name and target_named(case.target) == target
    }
    found: dict[Shape, dict[tuple[str, int], float]] = defaultdict(dict)
    for known in known_by_code(contents.records, NAMES).values():
        for problem, shape in shapes.items():
            for candidate, measured in known.best(problem).items():
                found[shape][candidate.instance, max(candidate.k_batch, 1)] = measured.median_us
    return found
