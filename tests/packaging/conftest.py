"""ckgen's wheel, built once."""

from __future__ import annotations

from pathlib import Path

import pytest
from packaging_support import build_wheel


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(Path(__file__).resolve().parents[2], tmp_path_factory.mktemp("wheel"))
