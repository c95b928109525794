"""The AMD toolchain for tests: taken where it was prepared, never prepared here."""

from __future__ import annotations

import os
from functools import cache

import pytest

from ckgen.build.amd.place import default_prefix
from ckgen.build.amd.toolchain import AmdToolchain, load
from ckgen.model.errors import InputError

REQUIRE = "CKGEN_REQUIRE_AMD"
"""Set to 1, as CI does, it makes a toolchain that is missing a failure instead of a skip."""


def amd_toolchain() -> AmdToolchain:
    """The toolchain in `$CKGEN_AMD_PREFIX`, else in the cache; skips the test, or fails it, when there is none."""
    found = _load()
    if isinstance(found, AmdToolchain):
        return found
    if os.environ.get(REQUIRE) == "1":
        pytest.fail(f"{REQUIRE}=1, but: {found}", pytrace=False)
    pytest.skip(found)


@cache
def _load() -> AmdToolchain | str:
    try:
        return load()
    except InputError:
        return f"no AMD toolchain in {default_prefix()}: run `ckgen toolchain amd`"
