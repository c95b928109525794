"""The summary of a check for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckgen.cli.output import columns

_MATRIX = ("module", "library", "dtype", "arch", "named", "emitted", "compiled", "gated", "executed", "clean")


def summary_text(document: Mapping[str, Any]) -> str:
    """The matrix, the totals, what they cost and what is not built."""
    rows: list[tuple[str, ...]] = [(*_MATRIX, "not verified on hardware")]
    for row in document["matrix"]:
        cells = ("–" if row[name] is None else str(row[name]) for name in _MATRIX)
        rows.append((*cells, str(row["not_verified_on_hardware"])))
    totals, cost, library = document["totals"], document["cost"], document["library"]
    counted = (
        f"{totals['names']} names, {totals['named']} with their archs: {totals['emitted']} emitted, "
        f"{totals['compiled']} compiled, {totals['gated']} passed, {totals['failed']} failed, "
        f"{totals['unavailable']} unavailable; {totals['variants']} device kernels"
    )
    took = (
        f"compiles: {cost['cpu_seconds']:,.0f} CPU seconds, median {cost['median_cpu_seconds']:.1f}, largest "
        f"{cost['largest_cpu_seconds']:.1f}; peak {cost['largest_peak_mb']:,.0f} MB"
    )
    whole = (
        f"library: {library['code_objects']} code objects, {library['packed_bytes']:,} bytes packed "
        f"({library['packed_bytes_each']:,} each), {library['host_units']} host units, "
        f"{library['host_object_bytes']:,} bytes; {library['seconds_on_cores'] / 60:.1f} min on "
        f"{library['cores']} cores"
    )
    lines = [columns(rows), counted, took, whole]
    if document["runs"]:
        right = [one for one in document["runs"] if one["right"]]
        found = sum(bool(one["findings"]) for one in right)
        lines.append(
            f"executed: {len(document['runs'])} kernels, {len(right)} right, {found} of them with findings; "
            f"{sum(one['instructions'] for one in right):,} instructions of waves"
        )
    if totals["not_checked"]:
        lines.append(f"not checked yet: {totals['not_checked']}")
    reasons: dict[str, int] = {}
    for one in document["not_built"]:
        reasons[one["reason"]] = reasons.get(one["reason"], 0) + 1
    lines += [f"not built, {count}: {reason}" for reason, count in reasons.items()]
    return "\n".join(lines)
