"""How often a ladder without one of its rows would have chosen that row's kernel, per module of the shipped tables."""

from __future__ import annotations

from collections import defaultdict

from shipped import TARGETS, shipped_plan

from ckgen.families.common.policy import near_gap
from ckgen.plan.model import GenerationPlan

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


def main() -> None:
    """Prints the table."""
    plan = shipped_plan()
    print(
        f"leave-one-out  {', '.join(map(str, TARGETS))}, all shipped tables: share answered with the row's own kernel"
    )
    print(f"  {'module':28}" + "".join(f"{band:>24}" for band in BANDS))
    for module, bands in sorted(agreement(plan).items()):
        cells = (f"{same / total:.3f} of {total}" if total else "-" for same, total in bands.values())
        print(f"  {module:28}" + "".join(f"{cell:>24}" for cell in cells))
    print("reproduce: python benchmarks/leave_one_out.py")


if __name__ == "__main__":
    main()
