"""A few real kernels, compiled: they pass the gate, and their figures are those recorded for this compiler."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from amd_support import amd_toolchain, missing
from ckgen.build.build_run import build_planned
from ckgen.build.cache import Cache, default_cache
from ckgen.build.inspect.recorded import Record, compare, load_records, recorded_file, text_of
from ckgen.build.planned import Planned
from ckgen.build.pool import Outcome, default_limits
from ckgen.build.result import Result
from ckgen.build.wanted import KernelFilter, wanted_kernels
from ckgen.cli.option_values import tuning_or_shipped
from ckgen.families.registry import FAMILIES
from ckgen.model.target import Target
from ckgen.plan.options import PlanOptions
from ckgen.progress import Progress
from ckgen.specs.archs import load_archs

pytestmark = [pytest.mark.amd, pytest.mark.slow]

Kernels = dict[str, list[str]]
SETS: dict[str, Kernels] = json.loads(Path(__file__).with_name("recorded_set.json").read_text())
SOURCE = "tests/build/inspect/test_recorded_set.py --update-goldens"


def places(kernels: Kernels) -> set[tuple[str, str]]:
    """Each kernel with each of its archs."""
    return {(kernel, arch) for kernel, archs in kernels.items() for arch in archs}


def built(kernels: Kernels) -> list[Result]:
    """Every one on its archs, from the build's own cache where it is there."""
    archs = load_archs()
    cache = Cache(default_cache())
    targets = tuple(Target(gfx, archs[gfx].default_cu_num) for gfx in sorted(set().union(*kernels.values())))
    options = PlanOptions(targets=targets, ops=frozenset(FAMILIES), tuning=tuning_or_shipped(()), every_count=True)
    wanted = wanted_kernels(options, KernelFilter(tuple(kernels), None), archs, cache.folder)
    planned = tuple(one for one in wanted.kernels if one.arch in kernels[one.kernel])
    assert sorted((one.kernel, one.arch) for one in planned) == sorted(places(kernels))
    found: list[Result] = []

    def heard(planned: Planned, result: Result, outcome: Outcome | None) -> None:
        found.append(result)

    build_planned(planned, amd_toolchain(), archs, cache, default_limits(None), heard, Progress())
    return [result for result in found if result.figures is not None]


@pytest.mark.parametrize("name", ["kernels", pytest.param("long", marks=pytest.mark.long)])
def test_figures_are_those_recorded_for_this_compiler(name: str, request: pytest.FixtureRequest) -> None:
    results = built(SETS[name])
    assert [finding for result in results for finding in result.errors] == []
    records = {(result.kernel, result.arch): Record.of(result.entry(), result.flags) for result in results}
    assert records.keys() == places(SETS[name])
    compiler = results[0].compiler
    known, of_all = load_records(compiler), places(SETS["kernels"]) | places(SETS["long"])
    if request.config.getoption("--update-goldens"):
        recorded_file(compiler).parent.mkdir(exist_ok=True)
        known = {place: one for place, one in {**(known or {}), **records}.items() if place in of_all}
        recorded_file(compiler).write_text(text_of(known.values(), compiler, SOURCE), encoding="utf-8")
    if known is None:
        missing(f"no figures are recorded for {compiler}")
    assert known.keys() == of_all
    assert [str(finding) for record in records.values() for finding in compare(record, compiler)] == []
