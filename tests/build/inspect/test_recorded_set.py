"""A few real kernels, compiled: they pass the gate, and their figures are those recorded for this compiler. Those that
only -m long compiles are made of what they were when it did."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from amd_support import amd_toolchain, missing
from ckgen import paths
from ckgen.build.build_run import build_planned
from ckgen.build.cache import Cache, default_cache
from ckgen.build.compile import device_job
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
LONG = Path(__file__).with_name("long_set.json")
"""Digests of what the kernels of the set `long` are made of, when they were last compiled and executed."""
SOURCE = "tests/build/inspect/test_recorded_set.py --update-goldens"


def places(kernels: Kernels) -> set[tuple[str, str]]:
    """Each kernel with each of its archs."""
    return {(kernel, arch) for kernel, archs in kernels.items() for arch in archs}


@cache
def wanted() -> tuple[Planned, ...]:
    """Every kernel of all sets on every arch of them, of one reading of the tables."""
    archs = load_archs()
    every = sorted(places(SETS["kernels"]) | places(SETS["long"]))
    targets = tuple(Target(gfx, archs[gfx].default_cu_num) for gfx in sorted({arch for _, arch in every}))
    options = PlanOptions(targets=targets, ops=frozenset(FAMILIES), tuning=tuning_or_shipped(()), every_count=True)
    globs = tuple(dict.fromkeys(kernel for kernel, _ in every))
    return wanted_kernels(options, KernelFilter(globs, None), archs, default_cache()).kernels


def planned(name: str) -> tuple[Planned, ...]:
    """Every kernel of a set on each of its archs."""
    found = tuple(one for one in wanted() if one.arch in SETS[name].get(one.kernel, ()))
    assert sorted((one.kernel, one.arch) for one in found) == sorted(places(SETS[name]))
    return found


def built(kernels: Iterable[Planned]) -> list[Result]:
    """From the build's own cache where they are there."""
    found: list[Result] = []

    def heard(planned: Planned, result: Result, outcome: Outcome | None) -> None:
        found.append(result)

    cache, limits = Cache(default_cache()), default_limits(None)
    build_planned(kernels, amd_toolchain(), load_archs(), cache, limits, heard, Progress())
    return [result for result in found if result.figures is not None]


def own_headers(text: str, folders: tuple[Path, ...], seen: set[Path]) -> Iterator[Path]:
    """The project's own headers that a text includes, and those that these include."""
    for name in re.findall(r'^\s*#\s*include\s*["<]([^">]+)', text, re.MULTILINE):
        path = next((folder / name for folder in folders if (folder / name).is_file()), None)
        if path is not None and path not in seen:
            seen.add(path)
            yield path
            yield from own_headers(path.read_text(encoding="utf-8"), folders, seen)


def digest(kernel: Planned) -> str:
    """Of all that a kernel is compiled from: text, command, compiler and CK by their ids, and our headers."""
    job = device_job(kernel.unit, amd_toolchain())
    total = hashlib.sha256(job.key.encode())
    for path in own_headers(kernel.text, job.own, set()):
        total.update(path.read_bytes())
    return total.hexdigest()[:16]


@pytest.mark.parametrize("name", ["kernels", pytest.param("long", marks=pytest.mark.long)])
def test_figures_are_those_recorded_for_this_compiler(name: str, request: pytest.FixtureRequest) -> None:
    results = built(planned(name))
    assert [finding for result in results for finding in result.errors] == []
    cache = Cache(default_cache())
    made_anew = [one.kernel for one in planned(name) if cache.find(device_job(one.unit, amd_toolchain())) is None]
    assert made_anew == [], "headers of ours stand in front of CK's and include them"
    records = {(result.kernel, result.arch): Record.of(result.entry(), result.flags) for result in results}
    assert records.keys() == places(SETS[name])
    compiler = results[0].compiler
    known, of_all = load_records(compiler), places(SETS["kernels"]) | places(SETS["long"])
    if request.config.getoption("--update-goldens"):
        recorded_file(compiler).parent.mkdir(exist_ok=True)
        known = {place: one for place, one in {**(known or {}), **records}.items() if place in of_all}
        recorded_file(compiler).write_text(text_of(known.values(), compiler, SOURCE), encoding="utf-8")
        if name == "long":
            digests = {f"{one.kernel} on {one.arch}": digest(one) for one in planned(name)}
            LONG.write_text(json.dumps(digests, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    if known is None:
        missing(f"no figures are recorded for {compiler}")
    assert known.keys() == of_all
    assert [str(finding) for record in records.values() for finding in compare(record, compiler)] == []


def test_kernels_that_only_long_tests_compile_are_made_of_what_they_were() -> None:
    recorded = json.loads(LONG.read_text(encoding="utf-8"))
    changed = {place for one in planned("long") if recorded.get(place := f"{one.kernel} on {one.arch}") != digest(one)}
    again = "pytest -m long tests/emulator && pytest -m long --update-goldens tests/build/inspect"
    assert not changed, f"no longer what was executed: {', '.join(sorted(changed))}; run {again}"
    assert len(recorded) == len(planned("long"))


def test_a_changed_text_and_a_changed_header_are_seen(tmp_path: Path) -> None:
    kernel = next(one for one in planned("long") if "qr_pagedkv" in one.kernel)
    assert digest(replace(kernel, text=kernel.text + "\n")) != digest(kernel)
    headers = list(own_headers(kernel.text, device_job(kernel.unit, amd_toolchain()).own, set()))
    assert headers and all(path.is_relative_to(paths.dispatcher_dir()) for path in headers)
    (tmp_path / "a.hpp").write_text('#include "b.hpp"\n#include <vector>\n', encoding="utf-8")
    (tmp_path / "b.hpp").write_text("  # include <a.hpp>\n", encoding="utf-8")
    assert list(own_headers('#include "a.hpp"', (tmp_path,), set())) == [tmp_path / "a.hpp", tmp_path / "b.hpp"]
