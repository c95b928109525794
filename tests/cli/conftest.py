"""A working directory that holds the tiny tables in `t/`."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_support import TINY, write


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder, which is also the working directory."""
    write(tmp_path, TINY)
    monkeypatch.chdir(tmp_path)
    return tmp_path
