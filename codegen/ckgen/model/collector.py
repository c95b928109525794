"""Python's cycle collector, out of the way while many small objects without cycles are made."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


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
            gc.enable()
