"""Rows of tables as one frame with what each computes, and how near its time comes to what the chip can do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ckgen import paths
from ckgen.model.fate import FateKind
from ckgen.model.row import Row
from ckgen.model.target import Target
from ckgen.plan.inputs import PlanInputs
from ckgen.plan.model import GenerationPlan
from ckgen.plan.rows import Entry, RowContext
from ckgen.report.coverage_maps import MAPPED
from ckgen.specs.performance import Peaks, peaks_of

if TYPE_CHECKING:
    from pandas import DataFrame

BELIEVED = (FateKind.SELECTED.value, FateKind.EXTERNAL.value, FateKind.UNAVAILABLE.value)
"""Fates of rows whose time is believed."""
BANDS = (1, 16, 64, 256, 1024, 4096)
"""Where bands of M begin."""


def band_of(m: int) -> str:
    """The band of an M, as in `17–64`: each ends where the next begins."""
    above = next((at for at, end in enumerate(BANDS) if m <= end), None)
    if above is None:
        return f"> {BANDS[-1]:,}"
    return f"{BANDS[above - 1] + 1}–{BANDS[above]}" if above else "1"


def rows_of(known: PlanInputs, plan: GenerationPlan, targets: Sequence[Target]) -> DataFrame:
    """The rows of these targets whose signature is known.

    Columns: place (file:line), target, signature, types, sizes, m, library, kernel, fate, us; operations, of GEMMs and
    experts; bytes that are read or written at least once (of a GEMM: A, B and C, without scales; else 0: no row tells
    the routing of experts); ops_per_s; bytes_per_s; least_us, the time that no kernel beats; of_rate and of_memory,
    the parts of both peaks; band, of m. What is not known is missing.
    """
    import pandas as pd

    fates = {id(fate.location): fate.kind.value for fate in plan.fates}
    peaks = {target: peaks_of(known.archs[target.gfx], target) for target in targets if target.gfx in known.archs}
    found = [
        _record(of_family.context, entry, peaks[entry.row.target], fates)
        for of_family in known.rows
        for entry in of_family.entries
        if entry.row.target in peaks and entry.signatures
    ]
    frame = pd.DataFrame(found, columns=_COLUMNS).astype(dict.fromkeys(_FLOATS, "float64"))
    frame["us"] = frame.us.where(frame.us > 0)
    seconds = frame.us * 1e-6
    frame["ops_per_s"] = frame.operations / seconds
    frame["bytes_per_s"] = frame.bytes / seconds
    frame["of_rate"] = frame.ops_per_s / frame.peak_ops
    frame["of_memory"] = frame.bytes_per_s / frame.peak_bytes
    frame["band"] = frame.m.map({m: band_of(int(m)) for m in frame.m.dropna().unique()})
    return frame


_COLUMNS = (
    "place", "target", "signature", "types", "sizes", "m", "library", "kernel", "fate", "us", "operations", "bytes",
    "peak_ops", "peak_bytes", "least_us",
)  # fmt: skip


_FLOATS = ("m", "us", "operations", "bytes", "peak_ops", "peak_bytes", "least_us")


def _record(context: RowContext, entry: Entry, peaks: Peaks, fates: Mapping[int, str]) -> tuple[Any, ...]:
    row, signature = entry.row, entry.signatures[0]
    types = str(signature.a) if signature.a == signature.b else f"{signature.a}·{signature.b}"
    operations = context.meanings.operations(row, signature) if row.op in MAPPED else None
    rate = peaks.ops_per_s(signature.a, signature.b) if operations is not None else None
    size = _bytes(row.shape, signature) if row.op == "gemm" else 0
    least = peaks.least_us(signature.a, signature.b, operations, size) if operations is not None and rate else None
    return (
        _place(context, row), str(row.target), context.shared(signature.canonical()), types, row.sizes,
        getattr(row.shape, "m", None), row.library, row.kernel, fates[id(row.location)], row.us, operations, size, rate,
        peaks.bytes_per_s, least,
    )  # fmt: skip


def _place(context: RowContext, row: Row) -> str:
    """Where the row stands; of shipped tables without the folder that ckgen lies in."""
    place, root = context.place(row), paths.root().as_posix()
    return f"{place.file.removeprefix(f'{root}/')}:{place.line}"


def _bytes(shape: Any, signature: Any) -> int:
    bits = shape.m * shape.k * signature.a.bits + shape.n * shape.k * signature.b.bits
    bits += shape.m * shape.n * signature.c.bits
    found: int = max(shape.batch, 1) * bits // 8
    return found


def fates_by_table(known: PlanInputs, plan: GenerationPlan, targets: Sequence[Target]) -> Iterator[dict[str, Any]]:
    """Rows by target, module and fate, as JSON; of files that are only counted without a target."""
    from collections import Counter

    fates = {id(fate.location): fate.kind for fate in plan.fates}
    found: Counter[tuple[str, str, FateKind]] = Counter()
    for of_family in known.rows:
        for entry in of_family.entries:
            row = entry.row
            if row.target is None or row.target in targets:
                found[str(row.target or ""), row.module or row.op, fates[id(row.location)]] += 1
    for file, report in zip(plan.files, plan.reports, strict=True):
        if file.counted is not None and file.row_count:
            found["", file.kind, file.counted] += file.row_count
        for fate in file.fates:
            found["", report.module or file.kind, fate.kind] += 1
    order = list(FateKind)
    for (target, module, kind), rows in sorted(found.items(), key=lambda one: (*one[0][:2], order.index(one[0][2]))):
        yield {"target": target, "module": module, "fate": kind.value, "rows": rows}
