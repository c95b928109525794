"""Lists of shapes: problems of every operation, each with how often it is asked, as CSV (docs/shapes.md)."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ckgen.model.diagnostic import Diagnostic, Location
from ckgen.model.document import JSON, DocumentError, read_text
from ckgen.model.errors import InputError, UsageError
from ckgen.model.target import Target
from ckgen.tables.cell_readers import SKU_COLUMN
from ckgen.tables.files import write_files

COLUMNS = ("gfx", "cu_num", SKU_COLUMN, "signature", "B", "M", "N", "K", "experts", "top_k", "sizes", "count")
_MAY_MISS = {"gfx": "", "cu_num": "", SKU_COLUMN: "", "sizes": ""}
_NUMBERS = COLUMNS[4:10]
_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True, order=True)
class AskedShape:
    """A problem; `batch`, `experts` and `top_k` are 0 where it has none. N and K of MoE are those of `lookup`.

    `sizes` is what the numbers do not say: each size of groups, and all sizes of attention, whose numbers are 0. `gfx`
    and `cu_num` are the device that asked, empty and 0 where a list is of none; `sku` is its product where known.
    """

    signature: str
    batch: int
    m: int
    n: int
    k: int
    experts: int = 0
    top_k: int = 0
    sizes: str = ""
    gfx: str = ""
    cu_num: int = 0
    sku: str = ""

    @property
    def text(self) -> str:
        """The sizes as people read them."""
        if self.sizes:
            return self.sizes
        batch = f"B={self.batch} " if self.batch else ""
        routing = f" experts={self.experts} top_k={self.top_k}" if self.experts else ""
        return f"{batch}M={self.m} N={self.n} K={self.k}{routing}"

    @property
    def target(self) -> str:
        """As `--target` has it; empty where the list is of no device."""
        return str(self.device) if self.gfx else ""

    @property
    def device(self) -> Target:
        """Who asked; of no arch where the list is of no device."""
        return Target(self.gfx, self.cu_num, self.sku)

    @property
    def numbers(self) -> tuple[int, ...]:
        """In the order of their columns."""
        return self.batch, self.m, self.n, self.k, self.experts, self.top_k


def write_shapes(path: Path, counts: Mapping[AskedShape, int]) -> None:
    """Replaces the file by the shapes in order, with products where one is known; UsageError where it cannot be
    written."""
    text = io.StringIO()
    columns = [name for name in COLUMNS if name != SKU_COLUMN or any(one.sku for one in counts)]
    writer = csv.DictWriter(text, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for one in sorted(counts):
        cells = (one.gfx, one.cu_num or "", one.sku, one.signature, *one.numbers, one.sizes, counts[one])
        writer.writerow(dict(zip(COLUMNS, cells, strict=True)))
    write_files({path: text.getvalue().encode()})


def lists_of(paths: Iterable[Path]) -> Iterator[Path]:
    """Lists as they are, of a folder all that lie in it; UsageError where it has none."""
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        lists = sorted(path.glob("*.csv"))
        if not lists:
            raise UsageError(f"{path} has no list of shapes (*.csv)")
        yield from lists


def read_shapes(path: Path, note: Callable[[str], None] | None = None) -> Counter[AskedShape]:
    """The inverse; a shape that stands twice is asked as often as both say. InputError M005 of each wrong line.

    The columns gfx, cu_num, sku and sizes may be missing. A last line that has no end and is no shape is what a process
    wrote when it was killed: `note` is told, and it is left out.
    """
    try:
        text = read_text(path, JSON)
        lines = list(csv.reader(io.StringIO(text)))
    except (DocumentError, csv.Error) as error:
        raise InputError([_wrong(path, 1, str(error))]) from None
    columns = tuple(lines[0]) if lines else ()
    if len(set(columns)) != len(columns) or set(COLUMNS) - set(columns) - set(_MAY_MISS) or set(columns) - set(COLUMNS):
        raise InputError([_wrong(path, 1, f"no list of shapes: its columns are not {','.join(COLUMNS)}")])
    found, errors = Counter[AskedShape](), []
    for number, line in enumerate(lines[1:], 2):
        shape = _shape(dict(zip(columns, line, strict=True))) if len(line) == len(columns) else None
        if shape is not None:
            found[shape[0]] += shape[1]
        elif line and number == len(lines) and not text.endswith(("\n", "\r")):
            if note is not None:
                note(f"{path}:{number}: the last line is torn and left out")
        elif line:
            errors.append(_wrong(path, number, f"no shape: '{','.join(line)}'"))
    if errors:
        raise InputError(errors)
    return found


def _shape(cells: Mapping[str, str]) -> tuple[AskedShape, int] | None:
    cells = _MAY_MISS | dict(cells)
    gfx, cu_num, sku, signature, sizes = (cells[name] for name in ("gfx", "cu_num", "sku", "signature", "sizes"))
    if not signature or bool(gfx) != bool(cu_num) or (sku and not gfx):
        return None
    numbers = [_number(cells[name]) for name in (*_NUMBERS, "count")] + [_number(cu_num or "0")]
    if None in numbers:
        return None
    batch, m, n, k, experts, top_k, count, cus = (number or 0 for number in numbers)
    if count < 1 or (cu_num and cus < 1) or (min(m, n, k) < 1 and not sizes):
        return None
    return AskedShape(signature, batch, m, n, k, experts, top_k, sizes, gfx, cus, sku), count


def _number(text: str) -> int | None:
    is_number = text.isascii() and text.isdecimal() and len(text) < 20 and int(text) <= _LARGEST
    return int(text) if is_number else None


def _wrong(path: Path, line: int, message: str) -> Diagnostic:
    hint = "CKGEN_RECORD, `ckgen shapes --out` and `ckgen record` write such lists"
    return Diagnostic("M005", message, Location(str(path), line), hint=hint)
