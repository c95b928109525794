"""Tables of the MX-FP8 kernels for few rows, written as their users read them: K, N, M, kernel, n_sub, k_splits and
use_hip, which says whether the kernel is worth more than the caller's own."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ckgen.families.gemm.hip_config import HipConfig
from ckgen.families.gemm.mxfp8_envelope import envelope
from ckgen.model.diagnostic import Diagnostic, Location
from ckgen.model.errors import InputError, UsageError
from ckgen.model.target import Target
from ckgen.specs.targets import target_of_product
from ckgen.tables.cell_readers import SKU_COLUMN
from ckgen.tables.files import write_files
from ckgen.tables.read import BOM, RawTable, parse_bytes, split_line
from ckgen.tune.outcome import Outcome, Tuned

SIGNATURE = "gemm_fp8_ocp_bf16_rcr_mx"
COLUMNS = ("K", "N", "M", "kernel", "n_sub", "k_splits", "use_hip")
LEAST_GAIN = 0.03
"""The part of the other path's time that a kernel must save, and more, to be used in its place."""
_TARGET = ("gfx", "cu_num")
Sizes = tuple[int, int, int]
"""K, N, M."""


@dataclass(frozen=True, slots=True)
class Line:
    """A row that was measured: the best kernel, and whether it is used."""

    sizes: Sizes
    config: HipConfig
    use_hip: bool

    def cells(self, target: Target) -> dict[str, str]:
        """By column, those of the target too."""
        values = (*self.sizes, self.config.kind, self.config.n_sub, self.config.k_splits, int(self.use_hip))
        return {
            "gfx": target.gfx, "cu_num": str(target.cu_num), SKU_COLUMN: target.sku,
            **dict(zip(COLUMNS, map(str, values), strict=True)),
        }  # fmt: skip


def is_worth_it(us: float, other: float | None) -> bool:
    """Whether a kernel is used: it saves more than LEAST_GAIN of the other path's time, or there is none."""
    return other is None or us < (1 - LEAST_GAIN) * other


def lines_of(outcome: Outcome, configs: Mapping[str, object], caller: Mapping[Sizes, float]) -> Iterator[Line]:
    """The rows of an outcome's problems of SIGNATURE. `configs` by instance; `caller`: microseconds of the caller's own
    kernel, where they are known. Kernels of other backends are another path too.

    A kernel that is used has a row where it is worth one beside selection's; one that is not always has one, since
    without it would be taken.
    """
    for one in outcome.every:
        if one.problem.key.signature != SIGNATURE or one.winner is None:
            continue
        sizes = (one.problem.key.k, one.problem.key.n, one.problem.key.m)
        own, others = _by_path(one, configs)
        if not own:
            continue
        config, us = min(own, key=lambda each: each[1])
        other = min([*others, *([caller[sizes]] if sizes in caller else [])], default=None)
        use_hip = is_worth_it(us, other)
        if one.is_row or not use_hip:
            yield Line(sizes, config, use_hip)


def _by_path(one: Tuned, configs: Mapping[str, object]) -> tuple[list[tuple[HipConfig, float]], list[float]]:
    """These kernels' times, the winner's first; and those of other backends."""
    assert one.winner is not None
    own, others = [], []
    winner = one.winner.candidate
    for candidate, measured in sorted(one.searched.confirmed.items(), key=lambda each: each[0] != winner):
        config = configs.get(candidate.instance)
        if isinstance(config, HipConfig):
            own.append((config, measured.median_us))
        else:
            others.append(measured.median_us)
    if own and isinstance(configs.get(winner.instance), HipConfig):
        return own[:1], others
    return own, others


def caller_times(path: Path) -> dict[Sizes, float]:
    """Microseconds of the caller's own kernel, of a CSV file with the columns K, N, M, us; InputError for another."""
    found: dict[Sizes, float] = {}
    raw = _read(path, ("K", "N", "M", "us"))
    for number, cells in _rows(raw):
        try:
            us = float(cells["us"])
            if not us > 0:
                raise ValueError(us)
            found[int(cells["K"]), int(cells["N"]), int(cells["M"])] = us
        except ValueError:
            at = Location(str(path), number)
            raise InputError([Diagnostic("T011", "no sizes and microseconds", at, hint="correct the line")]) from None
    return found


def write(path: Path, target: Target, lines: Iterable[Line], timed: Iterable[Sizes]) -> None:
    """Puts rows in place of those of the same problems; a problem that was `timed` and has no line has no row then.

    Other rows stay byte for byte. A table that tells no target is of the usual one alone: UsageError for another.
    """
    fresh = {line.sizes: line for line in lines}
    raw = _read(path, COLUMNS) if path.exists() else None
    columns = tuple(raw.header) if raw is not None else COLUMNS
    usual = target_of_product(envelope().usual_product)
    if not set(_TARGET) <= set(columns) and target != usual:
        raise UsageError(f"{path} tells no target, and is read as of {usual}: rows of {target} need gfx and cu_num")
    if target.sku and SKU_COLUMN not in columns:
        raise UsageError(f"{path} tells no product: rows of {target} need a column {SKU_COLUMN}")
    data = path.read_bytes() if raw is not None else f"{','.join(COLUMNS)}\n".encode()
    kept = data.removeprefix(BOM).splitlines(keepends=True)
    gone = set(timed)
    texts = dict(enumerate(kept, 1))
    for number, cells in _rows(raw) if raw is not None else ():
        sizes = _sizes(cells)
        own = (cells.get("gfx", target.gfx), cells.get("cu_num", str(target.cu_num)), cells.get(SKU_COLUMN, ""))
        if sizes is None or own != (target.gfx, str(target.cu_num), target.sku):
            continue
        if sizes in fresh:
            texts[number] = _text(fresh.pop(sizes), target, columns)
        elif sizes in gone:
            texts[number] = b""
    every = b"".join(texts.values())
    if every and not every.endswith(b"\n"):
        every += b"\n"
    added = b"".join(_text(fresh[sizes], target, columns) for sizes in sorted(fresh))
    write_files({path: (BOM if data.startswith(BOM) else b"") + every + added})


def _read(path: Path, columns: Iterable[str]) -> RawTable:
    try:
        raw, problems = parse_bytes(path.read_bytes(), str(path))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    if raw is None or problems:
        raise InputError(problems)
    missing = [name for name in columns if name not in raw.header]
    if missing:
        text = f"it has no column {', '.join(missing)}"
        raise InputError([Diagnostic("T004", text, Location(str(path), raw.header_line), hint="name another file")])
    return raw


def _rows(raw: RawTable) -> Iterator[tuple[int, dict[str, str]]]:
    """Lines by number, their cells by column."""
    for number, text in raw.rows():
        cells = split_line(text)
        if cells is not None:
            yield number, {name: cell.strip() for name, cell in zip(raw.header, cells, strict=False)}


def _sizes(cells: Mapping[str, str]) -> Sizes | None:
    try:
        return int(cells["K"]), int(cells["N"]), int(cells["M"])
    except (KeyError, ValueError):
        return None


def _text(line: Line, target: Target, columns: Iterable[str]) -> bytes:
    cells = line.cells(target)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow([cells.get(name, "") for name in columns])
    return text.getvalue().encode()
