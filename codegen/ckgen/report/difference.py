"""Two sets of tables side by side: rows that came, went and changed, and what their problems choose now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from ckgen.families.registry import family_of
from ckgen.model.fate import FateKind
from ckgen.model.row import Row
from ckgen.model.selection import Wishes
from ckgen.model.target import Target
from ckgen.plan.model import AnyUnit, GenerationPlan
from ckgen.plan.select import select
from ckgen.report.coverage_maps import MAPPED, work_of
from ckgen.workload.coverage import asked_of

if TYPE_CHECKING:
    from pandas import DataFrame

SCHEMA = "ckgen.diff/1"


class Kind(Enum):
    """WINNER: both tables measured the problem and choose otherwise. GAINED, LOST: one of them has no row of it."""

    WINNER = "winner"
    GAINED = "gained"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Choice:
    """What answers a problem. `us` is the time of the row that answers, which is the problem's own at tier exact."""

    tier: str
    kernel: str
    k_batch: int
    us: float | None


@dataclass(frozen=True, slots=True)
class Change:
    """A problem that chooses otherwise, or by another tier; `alike` are further signatures of the same rows."""

    kind: Kind
    target: str
    signature: str
    sizes: str
    old: Choice
    new: Choice
    alike: tuple[str, ...] = ()

    @property
    def ratio(self) -> float | None:
        """The new time over the old, where both tables measured the problem."""
        if self.kind is not Kind.WINNER or not self.old.us or not self.new.us:
            return None
        return self.new.us / self.old.us

    @property
    def same_kernel(self) -> bool:
        """Whether the same kernel in as many splits answers by another tier."""
        return (self.old.kernel, self.old.k_batch) == (self.new.kernel, self.new.k_batch)

    def document(self) -> dict[str, Any]:
        """As JSON."""
        found = asdict(self) | {"kind": self.kind.value, "alike": list(self.alike)}
        ratio = self.ratio
        return found | {"same_kernel": self.same_kernel, "ratio": round(ratio, 4) if ratio is not None else None}


def difference(old: GenerationPlan, new: GenerationPlan, names: tuple[str, str]) -> dict[str, Any]:
    """The document of two plans for the same targets; `names` are what people call them.

    Changes are by kind, those that cost most first and those that keep their kernel last.
    """
    rows, expected = _rows(old, new)
    changes = _folded([one for target in new.targets for one in _changes(old, new, target)])
    changes.sort(key=lambda one: (list(Kind).index(one.kind), one.same_kernel, -(one.ratio or 0)))
    instances = [{instance.name for instance in plan.instances} for plan in (old, new)]
    return {
        "schema": SCHEMA,
        "old": names[0],
        "new": names[1],
        "targets": [str(target) for target in new.targets],
        "rows": rows,
        "kinds": {kind.value: sum(one.kind is kind for one in changes) for kind in Kind},
        "same_kernel": {kind.value: sum(one.kind is kind and one.same_kernel for one in changes) for kind in Kind},
        "changes": [one.document() for one in changes],
        "instances": {"come": sorted(instances[1] - instances[0]), "go": sorted(instances[0] - instances[1])},
        "expected": expected,
    }


def differs(document: Mapping[str, Any]) -> bool:
    """Whether anything does."""
    rows, instances = document["rows"], document["instances"]
    is_other = any(rows[name] for name in ("added", "removed", "changed", "retimed"))
    return is_other or bool(document["changes"] or instances["come"] or instances["go"])


def _rows(old: GenerationPlan, new: GenerationPlan) -> tuple[dict[str, int], dict[str, Any]]:
    """How many rows came, went and changed, and the times of problems that both measured."""
    merged = _row_frame(old).merge(_row_frame(new), on="key", how="outer", suffixes=("_old", "_new"), indicator=True)
    both = merged[merged["_merge"] == "both"]
    same = both.answer_old == both.answer_new
    timed = (both.us_old == both.us_new) | (both.us_old.isna() & both.us_new.isna())
    counts = {
        "old": int((merged["_merge"] != "right_only").sum()),
        "new": int((merged["_merge"] != "left_only").sum()),
        "added": int((merged["_merge"] == "right_only").sum()),
        "removed": int((merged["_merge"] == "left_only").sum()),
        "changed": int((~same).sum()),
        "retimed": int((same & ~timed).sum()),
    }
    return counts, _expected(both[both.believed_old & both.believed_new & (both.us_old > 0) & (both.us_new > 0)])


def _expected(both: DataFrame) -> dict[str, Any]:
    """Times of problems that both sets of tables measured and believe."""
    import numpy as np

    if both.empty:
        return {"problems": 0, "us_old": 0.0, "us_new": 0.0, "geomean": None, "faster": 0, "slower": 0}
    ratio = both.us_new / both.us_old
    return {
        "problems": len(both),
        "us_old": round(float(both.us_old.sum()), 3),
        "us_new": round(float(both.us_new.sum()), 3),
        "geomean": round(float(np.exp(np.log(ratio).mean())), 4),
        "faster": int((ratio < 1).sum()),
        "slower": int((ratio > 1).sum()),
    }


_BELIEVED = (FateKind.SELECTED, FateKind.EXTERNAL)


def _row_frame(plan: GenerationPlan) -> DataFrame:
    """Rows of the plan's targets by what they are about, each once: of several of one key the one that answers."""
    import pandas as pd

    fates = {id(fate.location): fate.kind for fate in plan.fates}
    targets = frozenset(plan.targets)
    found: dict[Hashable, tuple[int, Row]] = {}
    for file in plan.files:
        for row in file.rows:
            if row.target is not None and row.target in targets:
                rank = list(FateKind).index(fates[id(row.location)])
                key = (row.op, row.target, tuple(row.about), row.shape, row.sizes)
                if key not in found or found[key][0] < rank:
                    found[key] = (rank, row)
    return pd.DataFrame(
        {
            "key": pd.Series(list(found), dtype=object),
            "answer": pd.Series([row.answer for _, row in found.values()], dtype=object),
            "us": pd.Series([row.us for _, row in found.values()], dtype="float64"),
            "believed": pd.Series([list(FateKind)[rank] in _BELIEVED for rank, _ in found.values()], dtype=bool),
        }
    )


def _changes(old: GenerationPlan, new: GenerationPlan, target: Target) -> Iterator[Change]:
    """What differs in tables of each signature, in order of signatures and sizes."""
    units_old, units_new = ({unit.name: unit for unit in plan.units} for plan in (old, new))
    for name in sorted(units_old.keys() | units_new.keys()):
        sides = [_measured(of_plan.get(name), target) for of_plan in (units_old, units_new)]
        for shape in sorted(sides[0].keys() | sides[1].keys(), key=_order):
            if sides[0].get(shape) == sides[1].get(shape):
                continue
            unit = units_new.get(name) or units_old[name]
            before, after = (_choice(plan, target, unit, shape, side.get(shape))
                             for plan, side in zip((old, new), sides, strict=True))  # fmt: skip
            kind = Kind.GAINED if shape not in sides[0] else Kind.LOST if shape not in sides[1] else Kind.WINNER
            yield Change(kind, str(target), name, _sizes(unit, shape), before, after)


def _measured(unit: AnyUnit | None, target: Target) -> dict[Any, tuple[str, int]]:
    """By shape what its row names: an instance, or another library's kernel, and the splits."""
    if unit is None:
        return {}
    return {
        one.shape: (unit.instances[one.instance].name, one.k_batch or 0)
        if one.instance is not None
        else (f"{one.library} {one.kernel}", 0)
        for one in unit.measured_on(target)
    }


def _choice(
    plan: GenerationPlan, target: Target, unit: AnyUnit, shape: Any, measured: tuple[str, int] | None
) -> Choice:
    """What selection takes; of operations whose rows do not tell a whole problem, what the row names."""
    if str(unit.signature.op) not in MAPPED:
        return Choice("exact", *measured, None) if measured is not None else Choice("no row", "", 0, None)
    family = family_of(unit.signature)
    problem = family.asked_problem(unit.signature, asked_of(work_of(unit, shape), unit.name, shape.m))
    found = select(family.query(plan, target, unit.signature, problem, Wishes()))
    us = found.row.us if found.row is not None else None
    name = found.instance.name if found.instance is not None else ""
    return Choice(str(found.tier), name, found.k_batch, us)


def _folded(changes: Sequence[Change]) -> list[Change]:
    """Changes of signatures that the same rows answer, under the first of these."""
    found: dict[tuple[object, ...], list[Change]] = {}
    for one in changes:
        old, new = (one.old, one.new)
        words = [each.kernel.removeprefix(f"{one.signature}_") for each in (old, new)]
        key = (one.kind, one.target, one.sizes, *words, old.tier, new.tier, old.k_batch, new.k_batch, old.us, new.us)
        found.setdefault(key, []).append(one)
    return [
        Change(first.kind, first.target, first.signature, first.sizes, first.old, first.new,
               tuple(one.signature for one in others))
        for first, *others in found.values()
    ]  # fmt: skip


def _sizes(unit: AnyUnit, shape: Any) -> str:
    return f"M={shape.m} {work_of(unit, shape).text}" if str(unit.signature.op) in MAPPED else str(shape)


def _order(shape: Any) -> tuple[object, ...]:
    return (shape.n, shape.k, shape.batch, shape.m) if hasattr(shape, "batch") else (str(shape),)


def tiers_changed(changes: Sequence[Mapping[str, Any]]) -> Counter[tuple[str, str]]:
    """How many problems went from one tier to another."""
    pairs = ((str(one["old"]["tier"]), str(one["new"]["tier"])) for one in changes)
    return Counter(pair for pair in pairs if pair[0] != pair[1])
