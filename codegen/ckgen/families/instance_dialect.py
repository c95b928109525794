"""The tables of ckgen's own: one form for all operations, whose kernels are instances by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from ckgen.families.common.providers import FORM, is_provider, provided_kernel
from ckgen.families.common.told_row import ToldRow
from ckgen.families.registry import FAMILIES, AnyFamily, family_of_name
from ckgen.model.diagnostic import Diagnostic, Location
from ckgen.model.errors import UsageError
from ckgen.model.row import Row
from ckgen.model.target import Target
from ckgen.tables.cell_readers import (
    NAME_COLUMN,
    SKU_COLUMN,
    SPLIT_K_COLUMN,
    TIME_COLUMN,
    CellError,
    Reader,
    arch,
    number,
    positive,
    sku,
)
from ckgen.tables.cells import Cells
from ckgen.tables.dialect import Dialect, LoadOptions, Told
from ckgen.tables.read import quoted
from ckgen.tables.reading import Adapted, Place, Reading

SIGNATURE_COLUMN, SIZES_COLUMN = "signature", "sizes"
NUMBERS = ("B", "M", "N", "K", "experts", "top_k")
COLUMNS = ("gfx", "cu_num", SIGNATURE_COLUMN, *NUMBERS, SIZES_COLUMN, NAME_COLUMN, SPLIT_K_COLUMN, TIME_COLUMN)
"""What decides, in the order in which tables are written; SKU_COLUMN may stand among them."""
PROVENANCE = ("spread", "runs", "tried", "device", "driver", "conditions", "tool", "date")
"""Who measured a row, and how; decides nothing."""
REQUIRED = tuple(name for name in COLUMNS if name not in (SIZES_COLUMN, "experts", "top_k"))
_MOST_SPLITS = 2**16 - 1


def count(text: str) -> int | CellError:
    """A size that a problem may not have: 0 (T005)."""
    return 0 if text == "0" else positive(text)


def splits(text: str) -> int | CellError:
    """A number of splits (T008)."""
    value = positive(text)
    if isinstance(value, int) and value <= _MOST_SPLITS:
        return value
    return CellError("T008", "is not a number of splits", f"expected a decimal integer from 1 to {_MOST_SPLITS}")


_READ: Mapping[str, tuple[Reader, bool, object]] = {
    "gfx": (arch, True, None),
    "cu_num": (positive, True, None),
    SKU_COLUMN: (sku, False, ""),
    SIGNATURE_COLUMN: (str, True, None),
    **dict.fromkeys(NUMBERS, (count, False, 0)),
    SIZES_COLUMN: (str, False, ""),
    NAME_COLUMN: (str, True, None),
    SPLIT_K_COLUMN: (splits, False, None),
    TIME_COLUMN: (number, False, None),
}
"""Column → how its cells are read, whether one must be there, and what an empty one means."""


@dataclass(frozen=True, slots=True)
class Named:
    """An instance by its name: the family, the signature, its canonical name, the word of `--ops`, and the Config.

    A provider's kernel has no Config.
    """

    family: AnyFamily
    signature: Any
    canonical: str
    word: str
    config: Any


@cache
def named(name: str) -> Named | None:
    """What the name of an instance says; None for a name that no instance has."""
    family = family_of_name(name)
    found = family.parse_instance(name)
    if found is None:
        return None
    signature, config = found
    return Named(family, signature, signature.canonical(), family.word_of(config), config)


def _provided(name: str, signature: str) -> Named | None:
    """A provider's kernel for the GEMM of that canonical name; None for another name or signature."""
    if provided_kernel(name) is None:
        return None
    family = FAMILIES["gemm"]
    try:
        found = family.parse_signature(signature, None)
    except UsageError:
        return None
    return Named(family, found, found.canonical(), family.name, None) if str(found.op) == family.op else None


class _InstanceTables:
    """Tables that no module tells apart; lines of ops that are not asked for are passed over."""

    columns = REQUIRED

    def is_asked(self, options: LoadOptions) -> bool:
        return options.module is None

    def read(self, cells: Cells, place: Place, options: LoadOptions) -> Told:
        reading = Reading(cells, place.display)
        read = {name: reading.column(name, how, required=must, empty=no) for name, (how, must, no) in _READ.items()}
        columns = {name: values for name, values in read.items() if values is not None}
        rows: list[Row] = []
        others: list[int] = []
        for index, line in enumerate(cells.numbers):
            if line in reading.invalid:
                continue
            cell = {name: values[index] for name, values in columns.items()}
            one = named(cell[NAME_COLUMN]) or _provided(cell[NAME_COLUMN], cell[SIGNATURE_COLUMN])
            if one is not None and one.word not in options.ops:
                others.append(line)
                continue
            row = _row(one, cell, Location(place.path, line), place, reading)
            if row is not None:
                rows.append(row)
        invalid = tuple(sorted(reading.invalid.items()))
        return Told(None, Adapted(tuple(rows), tuple(reading.problems), invalid, tuple(others)))


def _row(one: Named | None, cell: Mapping[str, Any], location: Location, place: Place, reading: Reading) -> Row | None:
    """The row of a line; None after what is wrong with it was reported."""
    line = location.line
    if one is None:
        about = (f"kernelName {quoted(cell[NAME_COLUMN])}",)
        hint = "see `ckgen list instances` for names: a table of ckgen's own has those"
        text = f"no instance has this name: {quoted(cell[NAME_COLUMN])}"
        if is_provider(cell[NAME_COLUMN].partition(":")[0]):
            name, signature = quoted(cell[NAME_COLUMN]), quoted(cell[SIGNATURE_COLUMN])
            text = f"not a provider's kernel for a GEMM: {name} for {signature}"
            hint = f"expected {FORM} (docs/providers.md), and a canonical signature of op gemm"
        reading.refuse(line, Diagnostic("T012", text, Location(place.display, line), about, hint))
        return None
    if cell[SIGNATURE_COLUMN] != one.canonical:
        text = f"the kernel is of {one.canonical}, the row says {quoted(cell[SIGNATURE_COLUMN])}"
        hint = "correct the cell: a signature stands under its canonical name"
        reading.refuse(line, Diagnostic("T015", text, Location(place.display, line), (), hint))
        return None
    told = ToldRow(
        location=location,
        layer=place.layer,
        target=Target(cell["gfx"], cell["cu_num"], cell.get(SKU_COLUMN, "")),
        signature=one.canonical,
        **{field: cell.get(name, 0) for field, name in _FIELDS},
        sizes=cell.get(SIZES_COLUMN, ""),
        kernel=cell[NAME_COLUMN],
        splits=cell.get(SPLIT_K_COLUMN),
        us=cell.get(TIME_COLUMN),
    )
    try:
        row: Row = one.family.told_row(told, one.signature)
    except UsageError as error:
        hint = "docs/tables.md says what the columns hold"
        reading.refuse(line, Diagnostic("T005", str(error), Location(place.display, line), (), hint))
        return None
    return row


_FIELDS = (("batch", "B"), ("m", "M"), ("n", "N"), ("k", "K"), ("experts", "experts"), ("top_k", "top_k"))


def _recognises(names: frozenset[str]) -> bool:
    return names >= {SIGNATURE_COLUMN, NAME_COLUMN, "M", "N", "K"}


TUNED = Dialect(
    kind="tuned",
    op="",
    recognises=_recognises,
    told_by="signature and kernelName of a table of ckgen's own",
    unread=frozenset(PROVENANCE),
    reader=_InstanceTables(),
)
