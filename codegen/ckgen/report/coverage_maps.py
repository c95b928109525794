"""Which tiers answer the problems of each (N, K), on each target: the cells of maps, and what they choose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ckgen.families.common.decision_rule import DecisionRule
from ckgen.families.common.query import AnyUnit
from ckgen.families.common.unit import Measured
from ckgen.families.registry import family_of
from ckgen.model.config import Config
from ckgen.model.groups import Routing
from ckgen.model.selection import Tier, Wishes
from ckgen.model.target import Target
from ckgen.plan.model import GenerationPlan
from ckgen.plan.select import select
from ckgen.workload.coverage import asked_of
from ckgen.workload.layer import Experts, Product
from ckgen.workload.shape_list import AskedShape

MAPPED = ("gemm", "moe")
"""Operations whose problems are an N, a K and any M."""
Work = Product | Experts


@dataclass(frozen=True, slots=True)
class Cell:
    """One (N, K) of a map: how many M of the ladder each tier answers. `layers` says who asks, of a model."""

    work: Work
    tiers: Mapping[Tier, int]
    gaps: tuple[int, ...]
    layers: str = ""

    @property
    def measured(self) -> int:
        """How many M have a row of their own."""
        return self.tiers.get(Tier.EXACT, 0)

    @property
    def n(self) -> int:
        """Of experts the rows of gate and of up."""
        return self.work.inter if isinstance(self.work, Experts) else self.work.n

    @property
    def k(self) -> int:
        """Of experts the hidden size."""
        return self.work.hidden if isinstance(self.work, Experts) else self.work.k

    def document(self) -> dict[str, Any]:
        """As JSON."""
        batch, experts, top_k = _counts(self.work)
        return {
            "n": self.n, "k": self.k, "batch": batch, "experts": experts, "top_k": top_k,
            "measured": self.measured, "asked": sum(self.tiers.values()),
            "tiers": {str(tier): count for tier, count in self.tiers.items()}, "layers": self.layers,
        }  # fmt: skip


def _counts(work: Work) -> tuple[int, int, int]:
    """Batch, experts, experts of a token; 0 of what it has not."""
    return (0, work.experts, work.top_k) if isinstance(work, Experts) else (work.batch, 0, 0)


@dataclass(frozen=True, slots=True)
class Map:
    """The cells of one signature on one target; `alike` are signatures that the same tables answer."""

    target: Target
    unit: AnyUnit
    alike: tuple[AnyUnit, ...]
    cells: tuple[Cell, ...]

    @property
    def signature(self) -> str:
        """The canonical name."""
        return self.unit.name

    def tiers(self) -> Counter[Tier]:
        """Problems by tier, of all cells."""
        found = Counter[Tier]()
        for cell in self.cells:
            found.update(cell.tiers)
        return found

    def rows(self) -> list[Measured]:
        """What its table measured, of other libraries too."""
        return self.unit.measured_on(self.target)

    def gaps(self) -> Iterator[AskedShape]:
        """The problems without a row of their own that a kernel can run."""
        for cell in self.cells:
            batch, experts, top_k = _counts(cell.work)
            for m in cell.gaps:
                sizes = (batch, m, cell.n, cell.k, experts, top_k)
                yield AskedShape(self.signature, *sizes, **self.target._asdict())


@dataclass(slots=True)
class Chosen:
    """What problems of maps choose: Configs by signature, and the targets on which decision rules answered."""

    configs: dict[Any, set[Config]] = field(default_factory=dict)
    rules: set[tuple[Any, Target]] = field(default_factory=set)

    def add(self, signature: Any, config: Config) -> None:
        """A Config that answers a problem of a signature."""
        self.configs.setdefault(signature, set()).add(config)


Asked = Mapping[Work, str]
"""What is asked of one signature, and by which layers."""


def asked_of_tables(plan: GenerationPlan, targets: Sequence[Target]) -> dict[tuple[Target, str], Asked]:
    """By target and signature the (N, K) that its tables have rows of; of signatures that share tables the first."""
    found: dict[tuple[Target, str], Asked] = {}
    seen: set[tuple[Target, tuple[int, ...]]] = set()
    for unit in plan.units:
        for target in sorted(targets):
            tables = tuple(map(id, unit.tables_on(target)))
            if not tables or (target, tables) in seen or str(unit.signature.op) not in MAPPED:
                continue
            seen.add((target, tables))
            works = {work_of(unit, one.shape) for one in unit.measured_on(target)}
            found[target, unit.name] = dict.fromkeys(sorted(works, key=str), "")
    return found


def maps_of(
    plan: GenerationPlan, asked: Mapping[tuple[Target, str], Asked], ladder: Sequence[int]
) -> tuple[tuple[Map, ...], Chosen]:
    """A map for each target and signature, the targets with most (N, K) first, and what they choose."""
    chosen = Chosen()
    units = {unit.name: unit for unit in plan.units}
    maps = []
    for (target, name), works in asked.items():
        unit = units.get(name)
        if unit is None:
            continue
        cells = tuple(_cell(plan, target, unit, work, ladder, layers, chosen) for work, layers in works.items())
        maps.append(Map(target, unit, _alike(plan, unit, target), cells))
    for one in maps:
        _add_rows(one, chosen)
    sizes = Counter[Target]()
    for one in maps:
        sizes[one.target] += len(one.cells)
    order = sorted(maps, key=lambda one: (-sizes[one.target], one.target, -len(one.cells), one.signature))
    return tuple(order), chosen


def work_of(unit: AnyUnit, shape: Any) -> Work:
    """What a measured shape is about but for its M."""
    if str(unit.signature.op) == "moe":
        routing = Routing.of_lookup_key(shape.batch)
        return Experts(shape.n, shape.k, routing.experts, routing.top_k)
    return Product(shape.n, shape.k, shape.batch)


def _alike(plan: GenerationPlan, unit: AnyUnit, target: Target) -> tuple[AnyUnit, ...]:
    tables = [id(table) for table in unit.tables_on(target)]
    if not tables:
        return ()
    return tuple(one for one in plan.units if one is not unit and [id(of) for of in one.tables_on(target)] == tables)


def _cell(
    plan: GenerationPlan, target: Target, unit: AnyUnit, work: Work, ladder: Sequence[int], layers: str, chosen: Chosen
) -> Cell:
    family, signature = family_of(unit.signature), unit.signature
    tiers, gaps = Counter[Tier](), []
    for m in ladder:
        problem = family.asked_problem(signature, asked_of(work, unit.name, m))
        found = select(family.query(plan, target, signature, problem, Wishes()))
        tiers[found.tier] += 1
        if found.tier not in (Tier.EXACT, Tier.UNSUPPORTED):
            gaps.append(m)
        if found.instance is not None:
            chosen.add(signature, found.instance.config)
        if found.tier is Tier.HEURISTIC:
            chosen.rules.add((signature, target))
    return Cell(work, {tier: tiers[tier] for tier in Tier if tier in tiers}, tuple(gaps), layers)


def _add_rows(one: Map, chosen: Chosen) -> None:
    """Rows of the cells between the steps of the ladder choose too; what the map's signature chooses those alike do."""
    works = {cell.work for cell in one.cells}
    for row in one.rows():
        if row.instance is not None and work_of(one.unit, row.shape) in works:
            chosen.add(one.unit.signature, one.unit.instances[row.instance].config)
    for other in one.alike:
        for config in chosen.configs.get(one.unit.signature, ()):
            chosen.add(other.signature, config)
        if (one.unit.signature, one.target) in chosen.rules:
            chosen.rules.add((other.signature, one.target))


def never_chosen(maps: Iterable[Map], chosen: Chosen) -> list[tuple[Any, str]]:
    """The instances of the maps' signatures that no row and no problem chooses, each with where it is from.

    A decision rule that answers anything needs all of its leaves, and so does one of a product that no map is of.
    Stream-K is for callers who ask for it, and no map does: it is passed over.
    """
    units = {unit.name: unit for one in maps for unit in (one.unit, *one.alike)}
    targets: dict[str, set[Target]] = {}
    for one in maps:
        for unit in (one.unit, *one.alike):
            targets.setdefault(unit.name, set()).add(one.target)
    found = []
    for name, unit in sorted(units.items()):
        needed = chosen.configs.get(unit.signature, set())
        archs = {target.gfx for target in targets[name]}
        leaves = {
            leaf
            for plan in unit.heuristics
            if _is_needed(plan.rule, unit.signature, targets[name], chosen)
            for leaf in plan.leaves
        }
        for number, instance in enumerate(unit.instances):
            is_needed = number in leaves or instance.config in needed
            is_asked_for = family_of(unit.signature).word_of(instance.config) == "stream_k"
            if is_needed or is_asked_for or not archs & {*instance.archs}:
                continue
            found.append((instance, _source(unit, number)))
    return found


def _is_needed(rule: DecisionRule, signature: Any, targets: Iterable[Target], chosen: Chosen) -> bool:
    asked = [target for target in targets if rule.is_for(target)]
    return not asked or any((signature, target) in chosen.rules for target in asked)


def _source(unit: AnyUnit, number: int) -> str:
    if any(number in rule.leaves for rule in unit.heuristics):
        return "decision rule"
    return "default" if any(number in of_arch for of_arch in unit.defaults.values()) else "part of a layer"
