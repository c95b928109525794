"""What tables cover, as one JSON document: maps of measured M, fates of rows, kernels, rates, and cost of building."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ckgen.model.selection import Tier
from ckgen.model.target import Target
from ckgen.plan.inputs import PlanInputs
from ckgen.plan.model import GenerationPlan
from ckgen.report.coverage_maps import Map
from ckgen.report.coverage_rates import peaks_document, rates
from ckgen.report.coverage_rows import fates_by_table, rows_of

if TYPE_CHECKING:
    from pandas import DataFrame

SCHEMA = "ckgen.coverage/1"


@dataclass(frozen=True, slots=True)
class Subject:
    """What a report is about. `told` says who asks: the tables, or a model on so many ranks."""

    told: str
    tables: tuple[str, ...]
    targets: tuple[Target, ...]
    ladder_text: str
    ladder: tuple[int, ...]


def coverage(
    subject: Subject,
    known: PlanInputs,
    plan: GenerationPlan,
    maps: Sequence[Map],
    never: Sequence[tuple[Any, str]],
    built: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """The document; every number of the page is one of its.

    `never` are instances that nothing chooses, `built` kernels of a summary of `ckgen amd-check` or `ckgen build`.
    """
    frame = rows_of(known, plan, subject.targets)
    fates = list(fates_by_table(known, plan, subject.targets))
    kernels = _kernels(frame)
    return {
        "schema": SCHEMA,
        "asked_by": subject.told,
        "tables": list(subject.tables),
        "targets": [str(target) for target in subject.targets],
        "ladder": {"text": subject.ladder_text, "m": list(subject.ladder)},
        "totals": _totals(fates, maps, kernels, never, frame),
        "maps": [_map(one) for one in maps],
        "fates": fates,
        "kernels": kernels,
        "never_chosen": [
            {"signature": one.signature.canonical(), "instance": one.name, "archs": list(one.archs), "source": source}
            for one, source in never
        ],
        "peaks": peaks_document(known.archs, subject.targets, frame),
        "rates": rates(frame),
        "beyond_physics": _beyond(frame),
        "built": _built(built, kernels),
    }


def _totals(
    fates: Sequence[Mapping[str, Any]], maps: Sequence[Map], kernels: Sequence[Mapping[str, Any]],
    never: Sequence[Any], frame: DataFrame,
) -> dict[str, Any]:  # fmt: skip
    tiers = {str(tier): sum(one.tiers()[tier] for one in maps) for tier in Tier}
    return {
        "rows": sum(one["rows"] for one in fates),
        "selected": sum(one["rows"] for one in fates if one["fate"] == "selected"),
        "problems": sum(tiers.values()),
        "measured": tiers[str(Tier.EXACT)],
        "gaps": sum(len(cell.gaps) for one in maps for cell in one.cells),
        "tiers": {tier: count for tier, count in tiers.items() if count},
        "cells": sum(len(one.cells) for one in maps),
        "kernels": len({(one["library"], one["kernel"]) for one in kernels}),
        "never_chosen": len(never),
        "beyond_physics": int((frame.us < frame.least_us).sum()),
    }


def _map(one: Map) -> dict[str, Any]:
    tiers = one.tiers()
    return {
        "target": str(one.target),
        "signature": one.signature,
        "describe": one.unit.signature.describe(),
        "alike": [unit.name for unit in one.alike],
        "module": one.unit.module,
        "rows": sum(row.instance is not None for row in one.rows()),
        "external": sum(row.instance is None for row in one.rows()),
        "asked": sum(tiers.values()),
        "measured": tiers[Tier.EXACT],
        "tiers": {str(tier): tiers[tier] for tier in Tier if tiers[tier]},
        "cells": [cell.document() for cell in one.cells],
    }


def _kernels(frame: DataFrame) -> list[dict[str, Any]]:
    """Kernels that rows select, by target and signature, the most frequent first."""
    selected = frame[frame.fate == "selected"]
    groups = selected.groupby(["target", "signature", "library", "kernel"], sort=True)
    found = groups.agg(rows=("us", "size"), median_us=("us", "median")).reset_index()
    found = found.sort_values(["rows", "target", "signature", "kernel"], ascending=[False, True, True, True])
    return [
        {
            "target": one["target"], "signature": one["signature"], "library": one["library"], "kernel": one["kernel"],
            "rows": int(one["rows"]), "median_us": _us(one["median_us"]),
        }
        for one in found.to_dict("records")
    ]  # fmt: skip


def _us(value: float) -> float | None:
    return None if math.isnan(value) else round(float(value), 3)


def _beyond(frame: DataFrame) -> list[dict[str, Any]]:
    """Rows whose time no kernel can reach, the most impossible first."""
    found = frame[frame.us < frame.least_us]
    found = found.assign(times=found.least_us / found.us).sort_values(["times", "place"], ascending=[False, True])
    return [
        {
            "place": one["place"], "target": one["target"], "signature": one["signature"], "sizes": one["sizes"],
            "kernel": one["kernel"], "fate": one["fate"], "us": round(one["us"], 3),
            "least_us": round(one["least_us"], 3),
            "times": round(one["times"], 2), "by": "rate" if one["of_rate"] > 1 else "memory",
        }
        for one in found.to_dict("records")
    ]  # fmt: skip


def _built(built: Sequence[Mapping[str, Any]], kernels: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """What compiling cost, and which kernels cost most for the rows that they win; None without a record."""
    if not built:
        return None
    rows: dict[tuple[str, str], int] = {}
    for one in kernels:
        key = one["kernel"], one["target"].partition(":")[0]
        rows[key] = rows.get(key, 0) + one["rows"]
    found = [
        {
            "kernel": one["name"], "arch": one["arch"], "cpu_seconds": one["cpu_seconds"] or 0.0,
            "object_bytes": one["object_bytes"] or 0, "rows": rows.get((one["name"], one["arch"]), 0),
        }
        for one in built
        if one["status"] == "built"
    ]  # fmt: skip
    found.sort(key=lambda one: (-one["cpu_seconds"], one["kernel"], one["arch"]))
    return {
        "kernels": len(found),
        "cpu_seconds": round(sum(one["cpu_seconds"] for one in found), 1),
        "object_bytes": sum(one["object_bytes"] for one in found),
        "without_rows": sum(not one["rows"] for one in found),
        "cpu_seconds_without_rows": round(sum(one["cpu_seconds"] for one in found if not one["rows"]), 1),
        "each": found,
    }
