"""The problems that tables hold, by module: what is tuned again, and what is left out and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ckgen.families.common.rows import RowMeanings
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.families.fmha.told_row import told_sizes
from ckgen.families.registry import FAMILIES
from ckgen.model.arch import ArchSpec
from ckgen.model.diagnostic import Severity
from ckgen.model.errors import InputError, UsageError
from ckgen.model.fate import FateKind
from ckgen.model.instance_row import GroupedInstanceRow
from ckgen.model.row import Row
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape
from ckgen.plan.inputs import by_family, load_options
from ckgen.plan.options import PlanOptions
from ckgen.tables.load import load_tables
from ckgen.tune.outcome import Tuned
from ckgen.tune.problems import Key, case_of, key_of_shape

UNTOLD = "own"
"""The module of rows that no module tells apart, of ckgen's own tables."""

_NOT_MEANT = "not what OP names"
_WHY_COUNTED = {
    FateKind.SHAPE_LIST: "nothing was tuned there",
    FateKind.UNKNOWN_TABLE: "no operation of ckgen's",
}


@dataclass(slots=True)
class Module:
    """What became of a module's rows: how many there are, the problems that they are about, and why others are not."""

    rows: int = 0
    keys: dict[Key, int] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return {"rows": self.rows, "problems": len(self.keys), "left_out": dict(self.left_out)}

    def ended(self, every: Iterable[Tuned]) -> Counter[str]:
        """How many of its problems ended how: with a row, or why without one."""
        return Counter("row" if one.is_row else one.why for one in every if one.problem.key in self.keys)


def problems_of_tables(
    tables: tuple[Path, ...],
    target: Target,
    archs: Mapping[str, ArchSpec],
    meant: Callable[[Key], bool] = lambda _: True,
) -> dict[str, Module]:
    """By module, what the rows of these tables ask on a target, of what is meant; InputError for tables that are wrong.

    Rows of the target itself where a module has any, else those of all targets, as a list of shapes.
    """
    options = PlanOptions(targets=None, ops=frozenset(FAMILIES), tuning=tables)
    loaded = load_tables(tables, load_options(options, archs))
    errors = [one for one in loaded.diagnostics if one.severity is Severity.ERROR]
    if errors:
        raise InputError(errors)
    found: dict[str, Module] = {}
    for file in loaded.files:
        if file.counted is not None:
            module = found.setdefault(file.module or file.kind, Module())
            module.rows += file.row_count
            module.left_out[f"{file.counted.value}: {_WHY_COUNTED[file.counted]}"] += file.row_count
    for context, rows in by_family(loaded, archs):
        own = {row.module for row in rows if row.target == target}
        for row in rows:
            module = found.setdefault(row.module or UNTOLD, Module())
            module.rows += 1
            if row.module in own and row.target != target:
                module.left_out[f"another target's row, beside some of {target}"] += 1
                continue
            _take(module, row, context.meanings, target, meant)
    return found


def _take(
    module: Module, row: Row, meanings: RowMeanings[Any, Any], target: Target, meant: Callable[[Key], bool]
) -> None:
    if row.target is None:
        module.left_out["its target is not told"] += 1
        return
    why = meanings.why_nothing(row)
    try:
        _, signatures = meanings.signatures(row) if why is None else (0, ())
        keys = [_key(row, signature) for signature in signatures]
        taken = [key for key in keys if meant(key)]
        for key in taken:
            if key not in module.keys:
                case_of(key, target)
    except UsageError as error:
        module.left_out[str(error)] += 1
        return
    if not keys:
        module.left_out[why or "no signature says it"] += 1
        return
    if not taken:
        module.left_out[_NOT_MEANT] += 1
    for key in taken:
        module.keys[key] = module.keys.get(key, 0) + 1


def _key(row: Row, signature: Any) -> Key:
    if isinstance(signature, FmhaSignature):
        return Key(signature.canonical(), sizes=told_sizes(signature, row.shape))  # type: ignore[arg-type]
    assert isinstance(row.shape, Shape)
    sizes = row.groups if isinstance(row, GroupedInstanceRow) else ""
    return key_of_shape(signature.canonical(), row.shape, str(signature.op), sizes)
