"""The tables of a registry document: their rows back into the plan of a unit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import Any

from ckgen.families.common.providers import is_provider
from ckgen.families.common.rows import Identified
from ckgen.families.common.unit import Measured, Table
from ckgen.families.registry import AnyFamily, family_of
from ckgen.model.arch import ArchSpec
from ckgen.model.fields import shown
from ckgen.model.target import Target
from ckgen.plan.examined import is_plain
from ckgen.plan.model import AnyUnit
from ckgen.plan.registry_document import EXTERNAL_KEYS, SELECTED_KEYS, TABLE_KEYS
from ckgen.plan.registry_fields import PRINT_AGAIN, Fields, Instances, Place
from ckgen.tables.cell_readers import LARGEST


class TableReader(Fields):
    """Reads what units have measured; each table once, though several units may share it."""

    def __init__(self, archs: Mapping[str, ArchSpec]) -> None:
        super().__init__(archs)
        self.targets: frozenset[Target] = frozenset()
        self._units: dict[str, AnyUnit] = {}

    def with_tables(self, unit: AnyUnit, value: Any, instances: Instances, at: Place) -> AnyUnit:
        """The unit with its tables, or those of the unit that `value` names."""
        named = isinstance(value, str)
        tables = self._shared(unit, value, at) if named else self._tables(unit, value, instances, at)
        done = replace(unit, tables=tables)
        self._units[unit.name] = done
        return done

    def _shared(self, unit: AnyUnit, name: str, at: Place) -> tuple[Table, ...]:
        known = self._units.get(name)
        if known is None:
            self.say("R006", at, f"no unit above it is {shown(name)}")
            return ()
        if [one.config for one in known.instances] != [one.config for one in unit.instances]:
            self.say("R006", at, f"{name} has other kernels, so that its tables cannot be shared")
            return ()
        return known.tables

    def _tables(self, unit: AnyUnit, value: Any, instances: Instances, at: Place) -> tuple[Table, ...]:
        items = self.items({"tables": value}, "tables", at[:-1], may_be_empty=True)
        family = family_of(unit.signature)
        found: dict[Target, Table] = {}
        for place, item in items:
            if not self.has_keys(item, TABLE_KEYS, place):
                continue
            for target in self.target((*place, "target"), item["target"]):
                if not any(one.concerns(target) for one in self.targets) or target in found:
                    why = "has a table already" if target in found else "is no target of the document"
                    self.say("R006", (*place, "target"), f"{target} {why}")
                found[target] = self._table(unit, family, target, item, instances, place)
        return tuple(table for _, table in sorted(found.items()))

    def _table(
        self, unit: AnyUnit, family: AnyFamily, target: Target, value: Any, instances: Instances, at: Place
    ) -> Table:
        rows = [*self._selected(unit, family, target, value, instances, at), *self._external(family, value, at)]
        seen: set[object] = set()
        for place, one in rows:
            key = (one.shape, one.instance is None and is_provider(one.library))
            if key in seen:
                self.say("R006", place, "its problem stands twice", "remove one")
            seen.add(key)
        selected, external = [], []
        for _, one in rows if len(seen) == len(rows) else ():
            winner = instances[one.instance] if one.instance is not None else None
            row = family.row_of(target, unit.signature, unit.module, one, winner)
            if one.instance is None:
                external.append(row)
            else:
                selected.append((row, one.instance))
        return family.table_of(target, unit.signature, selected, external)

    def _selected(
        self, unit: AnyUnit, family: AnyFamily, target: Target, value: Any, instances: Instances, at: Place
    ) -> Iterator[tuple[Place, Measured]]:
        meanings = family.row_meanings(self.archs)
        kernels = [Identified(one.config, one.backend) if one is not None else None for one in instances]
        for place, item in self.items(value, "selected", at, may_be_empty=True):
            if not self.has_keys(item, SELECTED_KEYS, place):
                continue
            shape = self._shape(family, item["shape"], (*place, "shape"))
            k_batch = self.decoded(int | None, item["k_batch"], (*place, "k_batch"))
            if k_batch is not None and not 1 <= k_batch <= LARGEST:
                self.say("R005", (*place, "k_batch"), f"not a number of splits: {k_batch}")
                continue
            numbers = self.indices([item["instance"]], (*place, "instance"), instances, target.gfx)
            kernel = kernels[numbers[0]] if numbers else None
            if shape is None or not numbers or kernel is None:
                continue
            one = Measured(shape, numbers[0], k_batch)
            row = family.row_of(target, unit.signature, unit.module, one, instances[numbers[0]])
            broken = meanings.broken(row, 0, unit.signature, kernel)
            if broken is not None:
                self.say("R006", place, f"its kernel does not take it: {broken.text}", PRINT_AGAIN)
            else:
                yield place, one

    def _external(self, family: AnyFamily, value: Any, at: Place) -> Iterator[tuple[Place, Measured]]:
        for place, item in self.items(value, "external", at, may_be_empty=True):
            if not self.has_keys(item, EXTERNAL_KEYS, place):
                continue
            shape = self._shape(family, item["shape"], (*place, "shape"))
            names = [self.decoded(str, item[key], (*place, key)) for key in ("library", "kernel")]
            for key, name in zip(("library", "kernel"), names, strict=True):
                if name is not None and not is_plain(name):
                    self.say("R005", (*place, key), f"not plain text: {shown(name)}")
            if shape is not None and all(name is not None and is_plain(name) for name in names):
                yield place, Measured(shape, None, None, *names)

    def _shape(self, family: AnyFamily, value: Any, at: Place) -> Any:
        """The problem; None where it cannot be read or has a size that none has."""
        shape = self.decoded(family.shape_type, value, at)
        sizes = {one.name: getattr(shape, one.name) for one in fields(family.shape_type)} if shape is not None else {}
        wrong = [name for name, size in sizes.items() if isinstance(size, int) and not -1 <= size <= LARGEST]
        for name in wrong:
            self.say("R005", (*at, name), f"no problem has such a size: {sizes[name]}")
        return None if wrong else shape
