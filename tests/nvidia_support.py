"""The NVIDIA toolchain for tests: taken where it was prepared, never prepared here."""

from __future__ import annotations

import os

import pytest

from ckgen.build.nvidia.toolchain import NvidiaToolchain, load
from ckgen.model.errors import InputError

REQUIRE = "CKGEN_REQUIRE_NVIDIA"
"""Set to 1, as CI does, it makes a toolchain that is missing a failure instead of a skip."""


def nvidia_toolchain() -> NvidiaToolchain:
    """The toolchain in `$CKGEN_NVIDIA_PREFIX`, else in the cache; skips the test, or fails it, when there is none."""
    try:
        return load()
    except InputError as error:
        if os.environ.get(REQUIRE) == "1":
            pytest.fail(f"{REQUIRE}=1, but: {error}", pytrace=False)
        pytest.skip(str(error).splitlines()[0])
