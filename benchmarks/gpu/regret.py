"""What predicted times choose on a GPU, over the fastest kernel of each problem, from the times of a journal.

    python benchmarks/gpu/regret.py [JOURNAL.jsonl.xz]

A line for each signature and each part of its problems: of layers (N, K) that a shipped table has, to which constants
are fitted, and of layers that none has. Of kernels that the journal timed, unsplit, it is what tier `predicted` takes.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from math import exp, log
from pathlib import Path

from ckgen import paths
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.measured import GemmUnit
from ckgen.families.gemm.predicted.ticks import predicted_ticks, timed, work_on
from ckgen.families.gemm.signature import GemmSignature
from ckgen.fuzz.case import parse_case
from ckgen.fuzz.decision import target_named
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape
from ckgen.plan.model import GenerationPlan
from ckgen.plan.options import PlanOptions
from ckgen.plan.planner import make_plan
from ckgen.specs.archs import load_archs
from ckgen.tune.journal import read_journals

JOURNAL = Path(__file__).parent / "h200_times.jsonl.xz"
Times = dict[tuple[str, Target, Shape], dict[str, float]]
"""Microseconds of each unsplit kernel, of a signature, a target and a problem."""


def main(journal: Path = JOURNAL) -> int:
    """0."""
    times = times_of(journal)
    plan = planned(times)
    for unit in plan.units_of(GemmSignature):
        signature = unit.signature.canonical()
        tabled = layers_of_tables(unit)
        among = {arch: [unit.instances[at] for at in numbers] for arch, numbers in timed(unit.instances).items()}
        parts: dict[str, list[float]] = defaultdict(list)
        for (name, target, shape), took in times.items():
            if name == signature:
                part = "of tables" if (shape.n, shape.k) in tabled else "of none"
                parts[part].append(regret(among[target.gfx], target, shape, took))
        for part, lost in sorted(parts.items()):
            print(f"{signature:40} layers {part:10} {summary(lost)}")
    return 0


def planned(times: Times) -> GenerationPlan:
    """The shipped kernels of the times' targets."""
    targets = tuple(sorted({target.any_sku for _, target, _ in times}))
    return make_plan(PlanOptions(targets=targets, tuning=paths.shipped_tables(), every_count=True), load_archs())


def layers_of_tables(unit: GemmUnit) -> set[tuple[int, int]]:
    """N and K of the rows of a signature."""
    return {(n, k) for table in unit.tables for n, k, _ in table.groups}


def times_of(journal: Path) -> Times:
    """See Times."""
    found: Times = defaultdict(dict)
    for record in read_journals([journal]).records:
        case, candidate = parse_case(record.problem), record.measured.candidate
        best = found[case.signature, target_named(case.target), Shape(0, case.m, case.n, case.k)]
        if candidate.k_batch == 1:
            best[candidate.instance] = record.measured.median_us
        best[""] = min(best.get("", record.measured.median_us), record.measured.median_us)
    return found


def regret(instances: list[Instance], target: Target, shape: Shape, took: dict[str, float]) -> float:
    """The time of the choice over that of the fastest, split or not."""
    among = (one for one in instances if one.name in took)
    choice = min(among, key=lambda one: predicted_ticks(work_on(one, target.gfx), shape, target.cu_num))
    return took[choice.name] / took[""]


def summary(lost: list[float]) -> str:
    """In words."""
    lost = sorted(lost)
    mean = exp(sum(map(log, lost)) / len(lost))
    most = lost[len(lost) * 95 // 100]
    return f"{len(lost):5} problems, geomean {mean:.3f}, 95th percentile {most:.2f}, worst {lost[-1]:.2f}"


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:])))
