"""Achieved rates of measured rows against the chip's peaks: by bands of M, and as squares of a picture."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ckgen.model.arch import ArchSpec
from ckgen.model.target import Target
from ckgen.report.coverage_rows import BELIEVED
from ckgen.specs.performance import peaks_of

if TYPE_CHECKING:
    from pandas import DataFrame, Series

PER_DECADE = 12
"""Squares of a decade, of both axes."""


def peaks_document(archs: Mapping[str, ArchSpec], targets: Sequence[Target], frame: DataFrame) -> list[dict[str, Any]]:
    """The peaks of each target for the types that its rows have, with where they are from."""
    found = []
    for target in targets:
        of_target = frame[(frame.target == str(target)) & frame.peak_ops.notna()]
        if of_target.empty:
            continue
        peaks = peaks_of(archs[target.gfx], target)
        rates = of_target.groupby("types").peak_ops.first().to_dict()
        found.append(
            {
                "target": str(target),
                "ops_per_s": {str(types): float(rate) for types, rate in rates.items()},
                "bytes_per_s": peaks.bytes_per_s,
                "cache_bytes": peaks.cache_bytes,
                "sources": {
                    "operations per clock": peaks.rate_source, "clock": peaks.clock_source,
                    "memory": peaks.memory_source, "caches": peaks.cache_source,
                },
            }
        )  # fmt: skip
    return found


def rates(frame: DataFrame) -> list[dict[str, Any]]:
    """By target and types, most rows first: per band of M medians and 95th percentiles of both shares; the squares.

    Of rows whose time is believed; `beyond` counts those that no kernel can reach. A square is the power of
    PER_DECADE-ths of ten where it begins, of operations per byte and of operations per second, and how many rows are in
    it; experts, whose bytes are not told, have none.
    """
    is_beyond = frame.us < frame.least_us
    beyond = frame[is_beyond].groupby(["target", "types"]).size().to_dict()
    believed = frame[frame.fate.isin(BELIEVED) & frame.of_rate.notna() & ~is_beyond]
    found = [
        {
            "target": target, "types": types, "rows": len(rows), "beyond": int(beyond.get((target, types), 0)),
            "bands": _bands(rows), "squares": _squares(rows),
        }
        for (target, types), rows in believed.groupby(["target", "types"])
    ]  # fmt: skip
    return sorted(found, key=lambda one: -one["rows"])


def _bands(rows: DataFrame) -> list[dict[str, Any]]:
    bands = sorted(rows.groupby("band"), key=lambda one: one[1].m.min())
    return [
        {
            "m": band, "rows": len(found), "of_rate": _spread(found.of_rate),
            "of_memory": _spread(found[found.bytes > 0].of_memory),
        }
        for band, found in bands
    ]  # fmt: skip


def _spread(shares: Series[float]) -> list[float | None]:
    """The median and the 95th percentile; None where there are none."""
    return [_share(float(shares.quantile(part))) for part in (0.5, 0.95)]


def _share(value: float) -> float | None:
    return None if math.isnan(value) else round(float(value), 4)


def _squares(rows: DataFrame) -> list[list[int]]:
    import numpy as np

    placed = rows[rows.bytes > 0]
    x = np.floor(np.log10(placed.operations / placed.bytes) * PER_DECADE).astype(int)
    y = np.floor(np.log10(placed.ops_per_s) * PER_DECADE).astype(int)
    counts = placed.groupby([x.rename("x"), y.rename("y")]).size()
    return [[int(at[0]), int(at[1]), int(count)] for at, count in counts.items()]  # type: ignore[index]
