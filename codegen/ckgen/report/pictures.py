"""Where things stand in pictures: geometry alone, in pixels; templates draw it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ckgen.report.coverage_rates import PER_DECADE

CELL = (26, 17)
"""Width and height of a cell; wide maps have narrower ones, down to LEAST, to fit WIDEST."""
LEAST = 16
WIDEST = 1230
_DIGIT = 6.4
"""Width of a digit of labels."""
STEPS = 5
"""Colours of shares above 0."""


@dataclass(frozen=True, slots=True)
class Label:
    """A text at a place."""

    x: float
    y: float
    text: str


@dataclass(frozen=True, slots=True)
class Square:
    """A cell of a map: its corner, the step of its colour, the number in it, and what it says."""

    x: float
    y: float
    step: int
    text: str
    told: str


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Rows are N, columns K. Column labels are turned by a quarter; `lines` leads the eye from a label to its cells."""

    width: float
    height: float
    cell: tuple[float, float]
    lines: str
    rows: tuple[Label, ...]
    columns: tuple[Label, ...]
    cells: tuple[Square, ...]


def step_of(part: int, whole: int) -> int:
    """0 where nothing, STEPS where all, and between them one of STEPS - 1 equal parts."""
    if not part or part == whole:
        return STEPS if part else 0
    return 1 + min(int((STEPS - 1) * part / whole), STEPS - 2)


def heat_map(cells: Sequence[Mapping[str, Any]]) -> HeatMap:
    """The map of a document's cells, by N downwards and K to the right."""
    row_keys = sorted({_row(one) for one in cells})
    column_keys = sorted({_column(one) for one in cells})
    left = 12 + _DIGIT * max(len(_row_text(key)) for key in row_keys)
    top = 12 + _DIGIT * max(len(_column_text(key)) for key in column_keys)
    width, height = max(LEAST, min(CELL[0], int((WIDEST - left) / len(column_keys)))), CELL[1]
    rows = {key: top + height * at for at, key in enumerate(row_keys)}
    columns = {key: left + width * at for at, key in enumerate(column_keys)}
    return HeatMap(
        width=left + width * len(columns) + 2,
        height=top + height * len(rows) + 2,
        cell=(width, height),
        lines="".join(f"M{left:g} {y + height / 2:g}h{width * len(columns):g}" for y in rows.values()),
        rows=tuple(Label(left - 6, y + 12.5, _row_text(key)) for key, y in rows.items()),
        columns=tuple(Label(x + width / 2 + 4, top - 5, _column_text(key)) for key, x in columns.items()),
        cells=tuple(
            Square(columns[_column(one)], rows[_row(one)], step_of(one["measured"], one["asked"]),
                   str(one["measured"]), told(one))
            for one in sorted(cells, key=lambda one: (_row(one), _column(one)))
        ),
    )  # fmt: skip


def told(cell: Mapping[str, Any]) -> str:
    """A cell in words."""
    sizes = [f"N {cell['n']}, K {cell['k']}"]
    sizes += [f"batch {cell['batch']}"] if cell["batch"] else []
    sizes += [f"{cell['experts']} experts, top {cell['top_k']}"] if cell["experts"] else []
    others = [f"{tier} {count}" for tier, count in cell["tiers"].items() if tier != "exact"]
    asked = f" ({cell['layers']})" if cell["layers"] else ""
    text = f"{', '.join(sizes)}{asked}: {cell['measured']} of {cell['asked']} measured"
    return f"{text}; {', '.join(others)}" if others else text


def _row(cell: Mapping[str, Any]) -> tuple[int, int]:
    return cell["n"], cell["batch"]


def _column(cell: Mapping[str, Any]) -> tuple[int, int, int]:
    return cell["k"], cell["experts"], cell["top_k"]


def _row_text(key: tuple[int, int]) -> str:
    return f"{key[0]}{f' ×{key[1]}' if key[1] else ''}"


def _column_text(key: tuple[int, int, int]) -> str:
    return f"{key[0]}{f' E{key[1]}/{key[2]}' if key[1] else ''}"


UNIT = 5
"""Pixels of a square of a rate picture."""
LEVELS = (1, 3, 10, 30, 100, 300)
"""Rows from which on a square has the next colour."""


@dataclass(frozen=True, slots=True)
class RatePicture:
    """Squares by level as paths, roofs as one path, ticks, and labels of the roofs."""

    width: float
    height: float
    squares: tuple[tuple[int, str], ...]
    roof: str
    roof_labels: tuple[Label, ...]
    x_ticks: tuple[Label, ...]
    y_ticks: tuple[Label, ...]
    left: float
    right: float
    top: float
    bottom: float


def rate_picture(
    squares: Sequence[Sequence[int]], ops_per_s: float | None, bytes_per_s: float | None
) -> RatePicture | None:
    """Operations per byte to the right, operations per second upwards, both by powers of ten; None without a square."""
    if not squares:
        return None
    high = math.ceil(math.log10(ops_per_s) * PER_DECADE) if ops_per_s else max(one[1] for one in squares)
    begin = _decade_below(min(one[0] for one in squares))
    end = max(begin + 3 * PER_DECADE, max(one[0] for one in squares) + 2)
    low = _decade_below(min(one[1] for one in squares))
    top, left = 20.0, 58.0
    place = _Place(begin, end, low, max(high, max(one[1] for one in squares)) + 1, left, top)
    paths: dict[int, list[str]] = {}
    for x, y, count in squares:
        level = sum(count >= least for least in LEVELS)
        paths.setdefault(level, []).append(f"M{place.x(x):g} {place.y(y + 1):g}h{UNIT}v{UNIT}h-{UNIT}z")
    roof, labels = _roof(place, ops_per_s, bytes_per_s)
    return RatePicture(
        width=place.right + 12, height=place.bottom + 34,
        squares=tuple((level, "".join(one)) for level, one in sorted(paths.items())),
        roof=roof, roof_labels=labels,
        x_ticks=tuple(Label(place.x(at), place.bottom + 14, _power(at)) for at in range(begin, end, PER_DECADE)),
        y_ticks=tuple(Label(left - 5, place.y(at) + 4, _prefixed(at)) for at in range(low, place.high, PER_DECADE)),
        left=left, right=place.right, top=top, bottom=place.bottom,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Place:
    begin: int
    end: int
    low: int
    high: int
    left: float
    top: float

    def x(self, at: float) -> float:
        return round(self.left + UNIT * (at - self.begin), 1)

    def y(self, at: float) -> float:
        return round(self.top + UNIT * (self.high - at), 1)

    @property
    def right(self) -> float:
        return self.x(self.end)

    @property
    def bottom(self) -> float:
        return self.y(self.low)


def _roof(place: _Place, ops_per_s: float | None, bytes_per_s: float | None) -> tuple[str, tuple[Label, ...]]:
    """The slope of memory up to the flat of the rate, as far as either is known."""
    if ops_per_s is None:
        return "", ()
    flat = math.log10(ops_per_s) * PER_DECADE
    text = f"{ops_per_s / 1e12:,.0f} Tops/s"
    labels = [Label(place.right, place.y(flat) - 5, text)]
    if bytes_per_s is None:
        return f"M{place.left:g} {place.y(flat):g}H{place.right:g}", tuple(labels)
    slope = math.log10(bytes_per_s) * PER_DECADE
    knee = flat - slope
    from_x = max(place.begin, place.low - slope)
    start = f"M{place.x(from_x):g} {place.y(from_x + slope):g}"
    middle = (from_x + knee) / 2
    labels.append(Label(place.x(middle) - 8, place.y(middle + slope), f"{bytes_per_s / 1e12:.3g} TB/s"))
    return f"{start}L{place.x(knee):g} {place.y(flat):g}H{place.right:g}", tuple(labels)


def _decade_below(at: int) -> int:
    return at // PER_DECADE * PER_DECADE


def _power(at: int) -> str:
    power = at // PER_DECADE
    return f"{10**power:,}" if power >= 0 else f"{10.0**power:g}"


def _prefixed(at: int) -> str:
    power = at // PER_DECADE
    for lift, prefix in ((12, "T"), (9, "G"), (6, "M")):
        if power >= lift:
            return f"{10 ** (power - lift):,} {prefix}"
    return f"{10.0**power:g}"


def stack(parts: Sequence[tuple[str, int]], width: int = 240) -> tuple[tuple[str, float, float], ...]:
    """Parts of a bar in order: name, left end and width in pixels; nothing is left out that counts."""
    whole = sum(count for _, count in parts)
    found, at = [], 0
    for name, count in parts:
        if count:
            begin = width * at / whole
            found.append((name, round(begin, 1), round(width * count / whole, 1)))
        at += count
    return tuple(found)
