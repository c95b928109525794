"""Python's cycle collector, out of the way while many small objects without cycles are made."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_keeps = False


def keep_what_is_made() -> None:
    """For a process that ends with its command: what is there behind a pause is never looked through, at its end too,
    which takes a sixth of the time in which a library is generated."""
    global _keeps
    _keeps = True


@contextmanager
def collector_paused() -> Iterator[None]:
    """Rows and rungs hold no cycles: collecting while they are made by the ten thousands only costs time.

    Re-entrant; leaves the collector as it was. Also a decorator.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            if _keeps:
                gc.freeze()
            gc.enable()
