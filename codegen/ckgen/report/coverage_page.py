"""The page of what tables cover: a document's pictures, and which of its numbers stand where."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any

from ckgen.model.selection import Tier
from ckgen.report.html import page_html
from ckgen.report.pictures import heat_map, rate_picture, stack

MOST_KERNELS = 12
"""Of a target, before the others that are folded away."""
MOST_BEYOND = 12
TIERS = tuple(str(tier) for tier in Tier)


def coverage_page(document: Mapping[str, Any]) -> str:
    """The page of a `ckgen.report.coverage` document."""
    peaks = {one["target"]: one for one in document["peaks"]}
    return page_html(
        "coverage",
        document,
        by_target=[
            _target(target, list(maps)) for target, maps in groupby(document["maps"], lambda one: one["target"])
        ],
        pictures=[_rate(one, peaks[one["target"]]) for one in document["rates"]],
        kernels_by_target=_kernels(document),
        never=_never(document["never_chosen"]),
        fates_by_table=_fates(document["fates"]),
        most_beyond=MOST_BEYOND,
    )


def _target(target: str, maps: list[Mapping[str, Any]]) -> dict[str, Any]:
    asked, measured = sum(one["asked"] for one in maps), sum(one["measured"] for one in maps)
    tiers = {tier: sum(one["tiers"].get(tier, 0) for one in maps) for tier in TIERS}
    shown = [
        {**one, "bar": stack(list(one["tiers"].items())),
         "picture": heat_map(one["cells"])}
        for one in maps
    ]  # fmt: skip
    return {
        "target": target, "maps": shown, "asked": asked, "measured": measured,
        "tiers": {tier: count for tier, count in tiers.items() if count}, "bar": stack(list(tiers.items())),
    }  # fmt: skip


def _rate(one: Mapping[str, Any], peaks: Mapping[str, Any]) -> dict[str, Any]:
    ops = peaks["ops_per_s"].get(one["types"])
    return {**one, "peak": ops, "picture": rate_picture(one["squares"], ops, peaks["bytes_per_s"])}


def _kernels(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """By target the kernels, how many win half of the rows, nine tenths, and all."""
    found = []
    for target in dict.fromkeys([*(one["target"] for one in document["maps"]), *document["targets"]]):
        kernels = [one for one in document["kernels"] if one["target"] == target]
        if not kernels:
            continue
        rows = sum(one["rows"] for one in kernels)
        counts = {part: _enough(kernels, part * rows) for part in (0.5, 0.9, 1.0)}
        found.append(
            {
                "target": target, "rows": rows, "most": kernels[0]["rows"], "half": counts[0.5], "nine": counts[0.9],
                "all": counts[1.0], "first": kernels[:MOST_KERNELS], "others": kernels[MOST_KERNELS:],
            }
        )  # fmt: skip
    return found


def _enough(kernels: list[Mapping[str, Any]], rows: float) -> int:
    """How many kernels, the most frequent first, win so many rows."""
    left = rows
    for number, one in enumerate(kernels, 1):
        left -= one["rows"]
        if left <= 0:
            return number
    return len(kernels)


def _never(never: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
    ordered = sorted(never, key=lambda one: (one["signature"], one["instance"]))
    return [
        {"signature": signature, "instances": list(found)}
        for signature, found in groupby(ordered, lambda one: str(one["signature"]))
    ]


def _fates(fates: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "target": target, "module": module, "rows": sum(counts.values()), "fates": counts,
            "bar": stack(list(counts.items())),
        }
        for (target, module), group in groupby(fates, lambda one: (one["target"], one["module"]))
        for counts in [{str(one["fate"]): int(one["rows"]) for one in group}]
    ]  # fmt: skip
