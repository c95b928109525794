"""A library whose kernels misbehave, each in its own way."""

from __future__ import annotations

import pytest

from bad_library import KERNELS, Bad, build_bad


@pytest.fixture(scope="session")
def bad(tmp_path_factory: pytest.TempPathFactory) -> Bad:
    return build_bad(tmp_path_factory.mktemp("bad"), KERNELS)
