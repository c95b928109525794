"""Selected rows, decision rules and defaults, gathered per signature: instances once, tables over their indices."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ckgen.families.common.providers import is_provider
from ckgen.families.common.signature import Signature
from ckgen.families.common.unit import HeuristicPlan, Table, UnitPlan
from ckgen.families.registry import family_of, make_instance
from ckgen.model.backend import Backend
from ckgen.model.config import Config
from ckgen.model.fate import FateKind
from ckgen.model.target import Target
from ckgen.plan.defaults import Defaults, SignatureHeuristic
from ckgen.plan.fates import Outcomes
from ckgen.plan.legal import Kernel
from ckgen.plan.model import AnyInstance, AnyUnit
from ckgen.plan.profile import TABLES, Profile, admitted_backends
from ckgen.plan.rows import Entry


@dataclass(slots=True)
class SharedRows:
    """The rows that signatures are answered from which no row tells apart; they share tables."""

    module: str
    selected: dict[Target, list[Entry]] = field(default_factory=dict)
    external: dict[Target, list[Entry]] = field(default_factory=dict)
    _tables: dict[tuple[Config, ...], tuple[Table, ...]] = field(default_factory=dict)

    def tables(self, signature: Signature, index: Mapping[Config, int]) -> tuple[Table, ...]:
        """One table per target; made once for all signatures that number their instances alike.

        A product's table has the ladders of which it has a row of its own, whole: where it has none, or one of a later
        layer stands for all products, stand the rows of all.
        """
        order = tuple(index)
        if order not in self._tables:
            targets = sorted(self.selected.keys() | self.external.keys())
            self._tables[order] = tuple(self._table(signature, target, index) for target in targets)
        return self._tables[order]

    def _table(self, signature: Signature, target: Target, index: Mapping[Config, int]) -> Table:
        numbers: dict[int, int] = {}
        sides = (self.selected.get(target, ()), self.external.get(target, ()))
        winners, others = self._of_product(signature, target) if target.sku else sides
        selected = ((entry.row, _number(entry, index, numbers)) for entry in winners)
        return family_of(signature).table_of(target, signature, selected, (entry.row for entry in others))

    def _of_product(self, signature: Signature, target: Target) -> tuple[list[Entry], list[Entry]]:
        """The selected and the external rows that answer a product in the ladders of which it has rows of its own.

        Of one place a provider's row stands beside another.
        """

        def place_of(one: Entry) -> tuple[Hashable, Hashable, bool]:
            return *family_of(signature).place_of(signature, one.row), is_provider(one.row.library)

        found: dict[tuple[Hashable, Hashable, bool], tuple[Entry, bool]] = {}
        for of, is_selected in ((self.selected, True), (self.external, False)):
            found |= {place_of(one): (one, is_selected) for one in of.get(target, ())}
        ladders = {ladder for ladder, _, _ in found}
        for of, is_selected in ((self.selected, True), (self.external, False)):
            for one in of.get(target.any_sku, ()):
                at = place_of(one)
                if at[0] in ladders and (at not in found or one.row.layer > found[at][0].row.layer):
                    found[at] = (one, is_selected)
        every = found.values()
        return [one for one, is_selected in every if is_selected], [
            one for one, is_selected in every if not is_selected
        ]


def gather(outcomes: Outcomes, profiles: Sequence[Profile] = ()) -> dict[Any, SharedRows]:
    """Selected and external rows by signature; those of one group that the profiles treat alike share their rows.

    All rows are of one family.
    """
    by_class: dict[tuple[int, frozenset[Backend]], SharedRows] = {}
    alike: dict[int, tuple[tuple[frozenset[Backend], list[Signature]], ...]] = {}
    found: dict[Any, SharedRows] = {}
    for entry, fate in outcomes.pairs():
        if fate.kind not in (FateKind.SELECTED, FateKind.EXTERNAL) or entry.row.target is None:
            continue
        for group in entry.answered_parts:
            if group.number not in alike:
                alike[group.number] = _alike(group.signatures, profiles)
            for backends, same in alike[group.number]:
                if not backends or (entry.kernel is not None and entry.kernel.backend not in backends):
                    continue
                rows = by_class.get((group.number, backends))
                if rows is None:
                    rows = by_class[group.number, backends] = SharedRows(entry.row.module)
                    found |= dict.fromkeys(same, rows)
                rows.module = rows.module or entry.row.module
                side = rows.selected if fate.kind is FateKind.SELECTED else rows.external
                side.setdefault(entry.row.target, []).append(entry)
    return found


def build_unit(
    signature: Signature,
    module: str,
    rows: SharedRows | None,
    defaults: Defaults,
    heuristics: Sequence[SignatureHeuristic],
    parts: Sequence[Kernel] = (),
) -> AnyUnit:
    """Everything about one signature; what a tier can return is among `instances` by construction.

    `parts` are kernels that instances of other signatures are made of: no tier needs to return them.
    """
    kernels = _Kernels()
    if rows is not None:
        for target, entries in rows.selected.items():
            for entry in entries:
                kernels.add_row(entry, target.gfx)
    chosen = [kernel for of_arch in defaults.values() for kernel in of_arch]
    chosen += [leaf for heuristic in heuristics for leaf in heuristic.leaves if leaf is not None]
    chosen += parts
    for kernel in chosen:
        for arch in kernel.archs:
            kernels.add(kernel.config, kernel.table_kernel, arch)
    instances = kernels.instances(signature, module)
    index = {instance.config: number for number, instance in enumerate(instances)}
    return UnitPlan(
        signature=signature,
        instances=instances,
        defaults={arch: tuple(index[one.config] for one in of_arch) for arch, of_arch in sorted(defaults.items())},
        module=module,
        tables=rows.tables(signature, index) if rows is not None else (),
        heuristics=tuple(
            HeuristicPlan(
                h.rule.arch, h.rule, tuple(index[leaf.config] if leaf is not None else None for leaf in h.leaves)
            )
            for h in heuristics
        ),
        predicted=family_of(signature).predicted(instances),
    )


def parts_of(units: Iterable[AnyUnit]) -> dict[Any, list[Kernel]]:
    """By signature, the kernels of which instances of these units are made."""
    found: dict[Any, list[Kernel]] = {}
    for unit in units:
        for part in (part for instance in unit.instances for part in instance.parts):
            found.setdefault(part.signature, []).append(Kernel(part.config, part.table_kernel, part.archs))
    return found


def _alike(
    signatures: Iterable[Signature], profiles: Sequence[Profile]
) -> tuple[tuple[frozenset[Backend], list[Signature]], ...]:
    """The signatures by the backends whose kernels their tables may select."""
    classes: dict[frozenset[Backend], list[Signature]] = {}
    for signature in signatures:
        classes.setdefault(admitted_backends(profiles, signature, TABLES), []).append(signature)
    return tuple(classes.items())


def _number(entry: Entry, index: Mapping[Config, int], numbers: dict[int, int]) -> int:
    """`numbers` remembers an identified kernel's index: hashing its Config once per kernel, not once per row."""
    kernel = entry.kernel
    assert kernel is not None
    number = numbers.get(id(kernel))
    if number is None:
        number = numbers[id(kernel)] = index[kernel.config]
    return number


@dataclass(slots=True)
class _Kernels:
    """Distinct kernels of a signature, with the archs that ask for them."""

    archs: dict[Config, set[str]] = field(default_factory=dict)
    names: dict[Config, str] = field(default_factory=dict)
    _seen: set[tuple[int, str]] = field(default_factory=set)

    def add_row(self, entry: Entry, arch: str) -> None:
        kernel = entry.kernel
        assert kernel is not None
        if (id(kernel), arch) not in self._seen:
            self._seen.add((id(kernel), arch))
            self.add(kernel.config, entry.table_kernel, arch)

    def add(self, config: Config, table_kernel: str, arch: str) -> None:
        self.archs.setdefault(config, set()).add(arch)
        if table_kernel:
            self.names[config] = table_kernel

    def instances(self, signature: Signature, module: str) -> tuple[AnyInstance, ...]:
        made = (
            make_instance(signature, config, archs, module=module, table_kernel=self.names.get(config, ""))
            for config, archs in self.archs.items()
        )
        return tuple(sorted(made, key=lambda instance: instance.name))
