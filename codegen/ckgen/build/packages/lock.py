"""One process at a time per folder; the lock goes with the process that holds it, however it ends."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked(folder: Path, waiting: Callable[[str], None]) -> Iterator[None]:
    """Holds `folder`/.lock, creating both; `waiting` hears so when another process holds it."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w", encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting(f"waiting for another ckgen that works in {folder}")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
