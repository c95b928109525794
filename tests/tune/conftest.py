from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines are not waited for until a disk has them: what a killed process wrote is there all the same."""
    monkeypatch.setattr("os.fsync", lambda _: None)
