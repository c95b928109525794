"""`ckgen list profiles --count`: what each keeps of the instances; kept between runs, as counting takes seconds."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ckgen.build.cache import default_cache
from ckgen.build.kept import keep, kept
from ckgen.build.wanted import KernelFilter, plan_digest
from ckgen.cli.list_instances import checked, counted, options_of
from ckgen.cli.output import columns, progress
from ckgen.model.collector import collector_paused
from ckgen.model.errors import InputError
from ckgen.plan.inputs import plan_inputs
from ckgen.plan.options import PlanOptions
from ckgen.plan.planner import plan_of
from ckgen.plan.profile_file import profile_file, read_profile, shipped_names
from ckgen.specs.archs import load_archs

_SCHEMA = "ckgen.profile_counts/1"

Rows = list[dict[str, Any]]


def profiles(params: Mapping[str, Any]) -> Rows:
    """Every shipped profile and those that --profile names, with what each keeps of the instances."""
    options = options_of(params)
    place = _place(options)
    rows: Rows | None = kept(place, _SCHEMA) if place is not None else None
    if rows is None:
        rows = _counted_rows(options)
        if place is not None:
            with suppress(OSError):
                keep(place, _SCHEMA, rows)
    return rows


def profiles_text(rows: Rows) -> str:
    """A line per profile."""
    cells = [("profile", "instances", "signatures", "rows", "keeps")]
    cells += [
        (row["name"], *(f"{row[key]:,}" for key in ("instances", "signatures", "rows")), row["about"]) for row in rows
    ]
    return columns(cells)


def _place(options: PlanOptions) -> Path | None:
    """Where the counts of such options are kept; None where nothing can be."""
    try:
        cache = default_cache()
    except (InputError, OSError):
        return None
    return cache / "plans" / f"{plan_digest(options, KernelFilter((), None))}-profiles.json"


@collector_paused()
def _counted_rows(options: PlanOptions) -> Rows:
    files = dict.fromkeys((*(profile_file(Path(name)) for name in shipped_names()), *options.profiles))
    with progress("reading tables"):
        known = plan_inputs(options, load_archs())
    rows = []
    for file in files:
        profile = read_profile(file)
        plan = checked(plan_of(known, (file,)), options)
        rows.append(
            {
                "name": profile.name,
                "about": profile.about,
                "instances": len(plan.instances),
                "signatures": sum(bool(unit.instances) for unit in plan.units),
                "rows": sum(plan.selected.values()),
                "archs": counted(arch for one in plan.instances for arch in one.archs),
            }
        )
    known.offers.filters.demand_fits()
    return rows
