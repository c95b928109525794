"""The AMD toolchain for tests: taken where it was prepared, never prepared here."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import NoReturn

import pytest

from ckgen.build.amd.place import default_prefix
from ckgen.build.amd.toolchain import AmdToolchain, load
from ckgen.build.cache import Cache, default_cache
from ckgen.build.compile import CODE_OBJECT, Unit, device_job
from ckgen.build.entry import Entry
from ckgen.build.job import Job
from ckgen.build.pool import Outcome, default_limits, run_jobs
from ckgen.model.errors import InputError, UsageError
from ckgen.progress import Progress
from ckgen_emulator.production.wheel import wheel_path

REQUIRE = "CKGEN_REQUIRE_AMD"
"""Set to 1, as CI does, it makes a toolchain that is missing a failure instead of a skip."""


def amd_toolchain() -> AmdToolchain:
    """The toolchain in `$CKGEN_AMD_PREFIX`, else in the cache; skips the test, or fails it, when there is none."""
    found = _load()
    return found if isinstance(found, AmdToolchain) else missing(found)


def missing(what: str) -> NoReturn:
    """Skips the test, or fails it where all of the toolchain is required."""
    if os.environ.get(REQUIRE) == "1":
        pytest.fail(f"{REQUIRE}=1, but: {what}", pytrace=False)
    pytest.skip(what)


def production_wheel() -> Path:
    """The CK wheel as it was downloaded: AMD's production code objects are in it."""
    try:
        return wheel_path(amd_toolchain())
    except UsageError as error:
        return missing(str(error))


def entries_of(*jobs: Job) -> list[Entry]:
    """What the build makes of each, from its cache where it is there; AssertionError with the log of one that fails."""
    found: dict[str, Entry] = {}

    def done(outcome: Outcome) -> None:
        assert outcome.entry.ok, outcome.entry.log
        found[outcome.job.key] = outcome.entry

    run_jobs(jobs, Cache(default_cache()), default_limits(None), done, Progress())
    return [found[job.key] for job in jobs]


def code_object_of(label: str, backend: str, arch: str, text: str) -> Path:
    """A device unit's code object, as `entries_of`."""
    (entry,) = entries_of(device_job(Unit(label, backend, "", arch, text), amd_toolchain()))
    return entry.output(CODE_OBJECT)


@cache
def _load() -> AmdToolchain | str:
    try:
        return load()
    except InputError:
        return f"no AMD toolchain in {default_prefix()}: run `ckgen toolchain amd`"
