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

KERNELS: dict[str, list[str]] = json.loads(Path(__file__).with_name("recorded_set.json").read_text())["kernels"]
SOURCE = "tests/build/inspect/test_recorded_set.py --update-goldens"


def built() -> list[Result]:
    """Every kernel of the set on its archs, from the build's own cache where it is there."""
    archs = load_archs()
    cache = Cache(default_cache())
    targets = tuple(Target(gfx, archs[gfx].default_cu_num) for gfx in sorted(set().union(*KERNELS.values())))
    options = PlanOptions(targets=targets, ops=frozenset(FAMILIES), tuning=tuning_or_shipped(()), every_count=True)
    wanted = wanted_kernels(options, KernelFilter(tuple(KERNELS), None), archs, cache.folder)
    planned = tuple(one for one in wanted.kernels if one.arch in KERNELS[one.kernel])
    assert sorted((one.kernel, one.arch) for one in planned) == sorted((k, a) for k in KERNELS for a in KERNELS[k])
    found: list[Result] = []

    def heard(planned: Planned, result: Result, outcome: Outcome | None) -> None:
        found.append(result)

    build_planned(planned, amd_toolchain(), archs, cache, default_limits(None), heard, Progress())
    return [result for result in found if result.figures is not None]


def test_figures_are_those_recorded_for_this_compiler(request: pytest.FixtureRequest) -> None:
    results = built()
    assert {result.kernel for result in results} == {*KERNELS}
    assert {arch: sum(arch in archs for archs in KERNELS.values()) for arch in ("gfx942", "gfx950")} == {
        "gfx942": 6,
        "gfx950": 6,
    }
    assert [finding for result in results for finding in result.errors] == []
    records = [Record.of(result.entry(), result.flags) for result in results]
    compiler = results[0].compiler
    if request.config.getoption("--update-goldens"):
        recorded_file(compiler).parent.mkdir(exist_ok=True)
        recorded_file(compiler).write_text(text_of(records, compiler, SOURCE), encoding="utf-8")
    known = load_records(compiler)
    if known is None:
        missing(f"no figures are recorded for {compiler}")
    assert known.keys() == {(record.kernel, record.arch) for record in records}
    assert [str(finding) for record in records for finding in compare(record, compiler)] == []
