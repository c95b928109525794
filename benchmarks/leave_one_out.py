"""How often a ladder without one of its rows would have chosen that row's kernel, per module of the shipped tables.

The share is of exact agreement with the measured winner. The tables hold the winner's time only, so what a miss costs
is not known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ours import SHIPPED, TARGETS
from support import Row, Run, main

from ckgen.families.common.policy import near_gap
from ckgen.plan.model import GenerationPlan
from ckgen.plan.planner import make_plan
from ckgen.specs.archs import load_archs

BANDS = ("near, M <= 1024", "near", "far")


def agreement(plan: GenerationPlan) -> dict[str, dict[str, tuple[int, int]]]:
    """Per module and band: rows that the rest of their ladder answers with the same kernel, and rows asked."""
    counts: dict[str, dict[str, list[int]]] = defaultdict(lambda: {band: [0, 0] for band in BANDS})
    seen: set[int] = set()
    for unit in plan.units:
        for table in unit.tables:
            if id(table) in seen:
                continue
            seen.add(id(table))
            kernels = [choice.instance for choice in table.choices]
            for group in table.groups.values():
                rungs = group.runnable.rungs
                rows = [(m, kernels[r.choice]) for r in rungs for m in range(r.first, r.last + 1, r.step)]
                for index, (m, kernel) in enumerate(rows):
                    answer = _without(rows, index, m)
                    if answer is None:
                        continue
                    for band in answer[0]:
                        counts[unit.module][band][0] += answer[1] == kernel
                        counts[unit.module][band][1] += 1
    return {module: {band: (same, total) for band, (same, total) in bands.items()} for module, bands in counts.items()}


def _without(rows: list[tuple[int, int]], index: int, m: int) -> tuple[tuple[str, ...], int] | None:
    """The bands and the kernel that answer m when the row at `index` is left out; the neighbours are all it takes."""
    above = rows[index + 1] if index + 1 < len(rows) else None
    below = rows[index - 1] if index else None
    if above is not None and near_gap().holds(m, above[0]):
        return (("near, M <= 1024", "near") if m <= 1024 else ("near",)), above[1]
    if above is not None and (below is None or above[0] * below[0] <= m * m):
        return ("far",), above[1]
    return (("far",), below[1]) if below is not None else None


def rows(run: Run) -> Iterator[Row]:
    """A row for each module and band."""
    words = {"near, M <= 1024": "near1024", "near": "near", "far": "far"}
    plan = make_plan(SHIPPED, load_archs())
    for module, bands in sorted(agreement(plan).items()):
        for band, (kept, total) in bands.items():
            name = f"{module}-{words[band]}"
            if total and run.wants(name):
                shape = f"{total:,} rows of {', '.join(map(str, TARGETS))}"
                yield run.counted(name, f"{module}, {band}", shape, "share", kept / total)


if __name__ == "__main__":
    main(rows, __doc__)
