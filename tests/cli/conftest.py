"""A working directory that holds the tiny tables in `t/`, and a measurer in place of one that times."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from cli_support import TINY, write
from tune_support import SHAPES, OfSignature


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder, which is also the working directory."""
    write(tmp_path, TINY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OfSignature:
    """What is timed in place of kernels; the working directory has a list of shapes."""
    measurer = OfSignature([])
    seen: dict[str, Any] = {}

    @contextmanager
    def local(target: object, ops: object, signatures: object, **options: Any) -> Iterator[OfSignature]:
        seen.update(options, target=target, ops=ops, signatures=signatures)
        yield measurer

    measurer.seen = seen  # type: ignore[attr-defined]
    monkeypatch.setattr("ckgen.measure.local.local_measurer", local)
    monkeypatch.setattr("os.fsync", lambda _: None)
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {"shapes.csv": SHAPES})
    return measurer
