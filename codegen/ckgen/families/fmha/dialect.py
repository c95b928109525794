"""Tables of attention: what their columns mean, and their cells as FmhaRows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ckgen.model.diagnostic import Location
from ckgen.model.fmha_row import FmhaRow
from ckgen.model.fmha_shape import SIZES, FmhaCorner, FmhaShape
from ckgen.model.op_words import FmhaEntry
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
    one_of,
    positive,
    sku,
)
from ckgen.tables.cells import Cells
from ckgen.tables.dialect import Dialect, LoadOptions, Told
from ckgen.tables.reading import Adapted, Place, Reading

COLUMNS = ("gfx", "cu_num", *SIZES, NAME_COLUMN, TIME_COLUMN)
"""What a table must have; `sku`, `direction`, `mask`, `page_size` and `splitK` may be there."""

DIRECTION_COLUMN, MASK_COLUMN, PAGE_COLUMN = "direction", "mask", "page_size"
_DIRECTIONS = {"fwd": FmhaEntry.FORWARD, "bwd": FmhaEntry.BACKWARD}
_MASK = re.compile(r"(?P<corner>[bt]):(?P<left>-1|\d{1,9}):(?P<right>-1|\d{1,9})(?::(?P<sink>\d{1,9}))?")
_CORNERS = {"b": FmhaCorner.BOTTOM_RIGHT, "t": FmhaCorner.TOP_LEFT}
_MOST_SPLITS = 2**16 - 1


@dataclass(frozen=True, slots=True)
class Mask:
    """A row's mask; `is_none` where it has none."""

    is_none: bool
    corner: FmhaCorner = FmhaCorner.BOTTOM_RIGHT
    window_left: int = -1
    window_right: int = 0
    sink_tokens: int = 0


def mask(text: str) -> Mask | CellError:
    """`none`, or LEFT:RIGHT[:SINK] behind `b:` or `t:`, as in an override file (T006)."""
    if text == "none":
        return Mask(True)
    found = _MASK.fullmatch(text)
    if found is None:
        return CellError("T006", "is not a mask", "expected none, or LEFT:RIGHT[:SINK] behind b: or t:, as in b:-1:0")
    left, right, sink = (int(found[name] or 0) for name in ("left", "right", "sink"))
    return Mask(False, _CORNERS[found["corner"]], left, right, sink)


def splits(text: str) -> int | CellError:
    """A number of splits of the keys (T008)."""
    value = positive(text)
    if isinstance(value, int) and value <= _MOST_SPLITS:
        return value
    return CellError("T008", "is not a number of splits", f"expected a decimal integer from 1 to {_MOST_SPLITS}")


def adapt_fmha(cells: Cells, place: Place) -> Adapted[FmhaRow]:
    """Every row of a table that has all COLUMNS; a row with a bad cell becomes diagnostics and an `invalid` entry."""
    reading = Reading(cells, place.display)
    read = {name: reading.column(name, how, required=must, empty=empty) for name, (how, must, empty) in _READ.items()}
    columns = {name: values for name, values in read.items() if values is not None}
    rows = []
    for index, line in enumerate(cells.numbers):
        if line in reading.invalid:
            continue
        row = {name: values[index] for name, values in columns.items()}
        seen: Mask = row.get(MASK_COLUMN, Mask(True))
        rows.append(
            FmhaRow(
                location=Location(place.path, line),
                layer=place.layer,
                target=Target(row["gfx"], row["cu_num"], row.get(SKU_COLUMN, "")),
                direction=row.get(DIRECTION_COLUMN, FmhaEntry.FORWARD),
                shape=_shape(row, seen),
                masked=not seen.is_none,
                kernel=row[NAME_COLUMN],
                k_batch=row.get(SPLIT_K_COLUMN),
                us=row[TIME_COLUMN],
            )
        )
    return Adapted(tuple(rows), tuple(reading.problems), tuple(sorted(reading.invalid.items())))


def _shape(row: Mapping[str, Any], seen: Mask) -> FmhaShape:
    return FmhaShape(
        **{name: row[name] for name in SIZES},
        corner=seen.corner,
        window_left=seen.window_left,
        window_right=seen.window_right,
        sink_tokens=seen.sink_tokens,
        page_size=row.get(PAGE_COLUMN, 0),
    )


_READ: Mapping[str, tuple[Reader, bool, object]] = {
    "gfx": (arch, True, None),
    "cu_num": (positive, True, None),
    SKU_COLUMN: (sku, False, ""),
    **dict.fromkeys(SIZES, (positive, True, None)),
    NAME_COLUMN: (str, True, None),
    TIME_COLUMN: (number, False, None),
    DIRECTION_COLUMN: (one_of(_DIRECTIONS), False, FmhaEntry.FORWARD),
    MASK_COLUMN: (mask, False, Mask(True)),
    PAGE_COLUMN: (positive, False, 0),
    SPLIT_K_COLUMN: (splits, False, None),
}
"""Column → how its cells are read, whether one must be there, and what an empty one means."""


class _FmhaTables:
    """Tables that no module tells apart."""

    columns = COLUMNS

    def is_asked(self, options: LoadOptions) -> bool:
        return options.module is None

    def read(self, cells: Cells, place: Place, options: LoadOptions) -> Told:
        return Told(None, adapt_fmha(cells, place))


TUNED = Dialect(
    kind="fmha_tuned",
    op="fmha",
    recognises=lambda names: names >= {"heads_q", "seqlen_k", NAME_COLUMN},
    reader=_FmhaTables(),
)

DIALECTS = (TUNED,)
