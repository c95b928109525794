"""Tables of ckgen's own, written: rows of others stay byte for byte, files are replaced whole."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ckgen.families.instance_dialect import COLUMNS, NUMBERS, PROVENANCE, SIGNATURE_COLUMN, SIZES_COLUMN
from ckgen.model.diagnostic import Diagnostic, Location
from ckgen.model.errors import InputError, UsageError
from ckgen.model.target import Target
from ckgen.tables.cell_readers import SKU_COLUMN
from ckgen.tables.files import write_files
from ckgen.tables.read import BOM, parse_bytes, split_line
from ckgen.tune.problems import Key

HEADER = (*COLUMNS, *PROVENANCE)


@dataclass(frozen=True, slots=True)
class TunedLine:
    """A row that was measured. `spread` is a part of the time; `tried` counts candidates."""

    key: Key
    kernel: str
    splits: int
    us: float
    spread: float
    runs: int
    tried: int
    device: str
    driver: str
    conditions: str
    tool: str
    date: str = ""

    def cells(self, target: Target) -> dict[str, str]:
        """By column."""
        numbers = dict(zip(NUMBERS, map(str, self.key.numbers), strict=True))
        product = {SKU_COLUMN: target.sku} if target.sku else {}
        return {
            "gfx": target.gfx, "cu_num": str(target.cu_num), **product, SIGNATURE_COLUMN: self.key.signature, **numbers,
            SIZES_COLUMN: self.key.sizes, "kernelName": self.kernel, "splitK": str(self.splits),
            "us": f"{self.us:.5g}", "spread": f"{self.spread:.4f}", "runs": str(self.runs), "tried": str(self.tried),
            "device": self.device, "driver": self.driver, "conditions": self.conditions, "tool": self.tool,
            "date": self.date,
        }  # fmt: skip


Place = tuple[Target, str, int, int, int, int, int, int, str]
"""Where a row stands among others: by target, signature, N, K, batch, routing, M, and where there is no M the sizes."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a table as its bytes, without its end, and its cells by column."""

    place: Place
    cells: Mapping[str, str]
    data: bytes


@dataclass(frozen=True, slots=True)
class Table:
    """A file's rows in their order; `head` is its first line with its end, `end` that of lines."""

    head: bytes
    columns: tuple[str, ...]
    end: bytes
    lines: tuple[Line, ...]


NO_TABLE = Table(f"{','.join(HEADER)}\n".encode(), HEADER, b"\n", ())


def read_table(path: Path) -> Table:
    """A table that `ckgen tune` wrote or may add to; the empty one where there is no file, InputError where it is no
    such table."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return NO_TABLE
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    return parse_table(data, str(path))


def parse_table(data: bytes, display: str) -> Table:
    """The same of a file's bytes."""
    raw, problems = parse_bytes(data, display)
    if raw is None or problems:
        raise InputError(problems)
    missing = [name for name in COLUMNS if name not in raw.header]
    if missing:
        hint = "choose another --out: rows are added to tables of ckgen's own alone"
        text = f"no table of ckgen's own: it has no column {', '.join(missing)}"
        raise InputError([Diagnostic("T004", text, Location(display, raw.header_line), hint=hint)])
    lines, errors = [], []
    kept = data.removeprefix(BOM).splitlines(keepends=True)
    for number, text in raw.rows():
        cells = split_line(text)
        at = place_of(dict(zip(raw.header, cells, strict=False))) if cells is not None else None
        if cells is None or at is None or len(cells) > len(raw.header):
            hint = "correct the line, or remove it"
            errors.append(Diagnostic("T011", "no row of a table", Location(display, number), hint=hint))
            continue
        row = dict(zip(raw.header, (*cells, *[""] * (len(raw.header) - len(cells))), strict=True))
        lines.append(Line(at, row, kept[number - 1].rstrip(b"\r\n")))
    if errors:
        raise InputError(errors)
    head = kept[raw.header_line - 1]
    end = head[len(head.rstrip(b"\r\n")) :] or b"\n"
    bom = BOM if data.startswith(BOM) else b""
    return Table(bom + head.rstrip(b"\r\n") + end, raw.header, end, tuple(lines))


def place_of(cells: Mapping[str, str]) -> Place | None:
    """Where a row of these cells stands; None where its numbers are none."""
    words = {name: text.strip() for name, text in cells.items()}
    try:
        cu_num, *numbers = (int(words.get(name) or "0") for name in ("cu_num", *NUMBERS))
    except ValueError:
        return None
    batch, m, n, k, experts, top_k = numbers
    target = Target(words.get("gfx", ""), cu_num, words.get(SKU_COLUMN, ""))
    sizes = "" if m else " ".join(words.get(SIZES_COLUMN, "").split())
    return (target, words.get(SIGNATURE_COLUMN, ""), n, k, batch, experts, top_k, m, sizes)


def with_rows(table: Table, target: Target, rows: Iterable[TunedLine], without: Iterable[Key] = ()) -> bytes:
    """The table's bytes with these rows in place of those of the same problems, and none of the problems `without`; all
    rows sorted, others as they were.

    Columns that the table lacks are added behind its own, that of products where the target has one; an unknown column
    is empty in new rows.
    """
    needed = (*HEADER, SKU_COLUMN) if target.sku else HEADER
    added = [name for name in needed if name not in table.columns]
    columns = (*table.columns, *added)
    head = table.head
    if added:
        head = head.rstrip(b"\r\n") + f",{','.join(added)}".encode() + table.end
    fresh = {}
    for row in rows:
        cells, at = row.cells(target), place(row.key, target)
        fresh[at] = Line(at, cells, _text([cells.get(name, "") for name in columns]))
    gone = {place(key, target) for key in without}
    lines = [line for line in table.lines if line.place not in fresh and line.place not in gone]
    every = sorted([*lines, *fresh.values()], key=lambda line: line.place)
    return head + b"".join(line.data + table.end for line in every)


def write_table(
    path: Path, table: Table, target: Target, rows: Iterable[TunedLine], without: Iterable[Key] = ()
) -> None:
    """Replaces the file whole, or leaves it as it was; UsageError where it cannot be written."""
    write_files({path: with_rows(table, target, rows, without)})


def place(key: Key, target: Target) -> Place:
    """Where the row of a problem on a target stands."""
    return (target, key.signature, key.n, key.k, key.batch, key.experts, key.top_k, key.m, "" if key.m else key.sizes)


def _text(cells: Sequence[str]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(cells)
    return text.getvalue().encode()
