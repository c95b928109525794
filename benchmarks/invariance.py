"""What one order of additions for every M costs: on this CPU measured, on AMD's GPUs expected from the shipped tables.

On the CPU `select` with the wish against `select` without, over projections of public models and a ladder of M, all in
turns; above 1 the wish is slower. On GPUs: the geometric mean over the measured M of a target's ladders of what the
order's nearest measured kernel took over the winner there. A kernel at M takes at most what it took at the next larger
M that it won; beyond its largest M its time is taken to grow with M. Tables hold winners alone, so what the order's
best kernel would take at another winner's M is not known: these are bounds, not times.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence

from gemm_operands import Operands, Product
from ours import SHIPPED, Ours
from support import Row, Run, main

from ckgen.families.gemm.measured import GroupKey, TablePlan
from ckgen.families.gemm.one_order import choice_of_ladder, order_in
from ckgen.measure.model import Effort
from ckgen.measure.timing import interleaved
from ckgen.plan.model import GenerationPlan
from ckgen.plan.planner import make_plan
from ckgen.specs.archs import load_archs

SIGNATURES = {
    "bf16": "gemm_bf16_rcr",
    "fp8-rowwise": "gemm_fp8_ocp_bf16_rcr_rowwise",
    "fp8-blockscale": "gemm_fp8_ocp_bf16_rcr_blockscale",
    "int8-rowwise": "gemm_int8_bf16_rcr_rowwise",
}
PROJECTIONS = {"qwen3-8b-qkv": (6144, 4096), "llama3-8b-down": (4096, 14336), "qwen3-30b-o": (2048, 4096)}
MS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
_EFFORT = Effort(seconds=0.4, least=3, most=15, sample=0.01)


def rows(run: Run) -> Iterator[Row]:
    """The mean of each type and projection, then of all; the expected loss of each module and target."""
    chosen = {
        f"{name}-{layer}": (text, sizes)
        for name, text in SIGNATURES.items()
        for layer, sizes in PROJECTIONS.items()
        if run.wants(f"{name}-{layer}")
    }
    if chosen:
        ours = Ours(run, (text for text, _ in chosen.values()), ("gemm",))
        ratios: list[float] = []
        for name, (text, (n, k)) in chosen.items():
            own = [_ratio(run, ours, text, (1, m, n, k)) for m in MS]
            ratios += own
            told = {f"M = {m}": round(one, 3) for m, one in zip(MS, own, strict=True)}
            yield run.counted(name, f"time with the wish over without, {text}", f"M × {n} × {k}", "×", _mean(own), told)
        yield run.counted("cpu", "time with the wish over without", f"{len(ratios)} products", "×", _mean(ratios))
    if run.wants("expected"):
        for name, (loss, known, count) in expected(make_plan(SHIPPED, load_archs())).items():
            shape = f"{count} measured M, of {known} the winner's order"
            yield run.counted(f"expected-{name}", "expected: time in one order over the winner's", shape, "×", loss)


def expected(plan: GenerationPlan) -> dict[str, tuple[float, int, int]]:
    """By target and module: the geometric mean of bounds, M whose winner is of the order, and all M."""
    found: dict[str, list[float]] = defaultdict(list)
    seen: set[int] = set()
    for unit in plan.units:
        for table in unit.tables:
            if not isinstance(table, TablePlan) or id(table) in seen:
                continue
            seen.add(id(table))
            for key in table.groups:
                found[f"{table.target}-{unit.module}"] += _bounds(unit, table, key)
    return {
        name: (_mean(losses), sum(one == 1.0 for one in losses), len(losses))
        for name, losses in found.items()
        if losses
    }


def _bounds(unit: object, table: TablePlan, key: GroupKey) -> list[float]:
    """Of each measured M with a time; none where no order answers."""
    choice = choice_of_ladder(unit, table, key)  # type: ignore[arg-type]
    if choice is None:
        return []
    instances = unit.instances  # type: ignore[attr-defined]
    order, group = order_in(instances, choice), table.groups[key]
    if not order.number:
        return []
    timed = [
        (m, row.us, order_in(instances, table.choices[at]) == order)
        for m, at in group.runnable.sizes()
        if (row := group.rows[m]).us
    ]
    own = [(m, us) for m, us, is_own in timed if is_own]
    if not own:
        return []
    bounds = []
    for m, us, is_own in timed:
        above = [one for size, one in own if size >= m]
        beyond = own[-1][1] * m / own[-1][0]
        bounds.append(1.0 if is_own else max((above[0] if above else beyond) / us, 1.0))
    return bounds


def _ratio(run: Run, ours: Ours, text: str, sizes: tuple[int, int, int, int]) -> float:
    operands = Operands(Product(text, sizes))
    bodies = {str(wish): operands.ours(ours, batch_invariant=wish)[1] for wish in (False, True)}
    effort = Effort(seconds=0.0, least=1, most=1, sample=0.0) if run.quick else _EFFORT
    found = interleaved(bodies, effort)
    return found["True"].median / found["False"].median


def _mean(values: Sequence[float]) -> float:
    return round(math.exp(sum(map(math.log, values)) / len(values)), 4)


if __name__ == "__main__":
    main(rows, __doc__)
