"""What a call costs on this CPU that two threads share: one after the other, and after a pause of 1 ms.

`empty-*` is the pool alone: bodies that do nothing. `busy-*` has two bodies of 20 µs, and the same on one thread as its
peer. `little-*` says how little work it is, so that nobody is woken for it after a pause.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import numpy as np
from ours import own_library
from support import Row, Run, main

from ckgen.measure.timing import Sample

PAUSES = {"close": 0, "apart": 1000}
BODIES = {"empty": (0, float("inf")), "busy": (20_000, float("inf")), "little": (500, 1e6)}
_ROUNDS = {"close": 20_000, "apart": 1000}


def compared(run: Run) -> Iterator[Row]:
    """A row for each pause and body."""
    chosen = [(body, pause) for body in BODIES for pause in PAUSES if run.wants(f"{body}-{pause}")]
    if not chosen:
        return
    library = own_library(run.folder, "threads")
    for body, pause in chosen:
        rounds = 10 if run.quick else _ROUNDS[pause]
        taken = {threads: _taken(library, threads, body, pause, rounds) for threads in (1, 2)}
        shape = f"two bodies of {BODIES[body][0] / 1000:g} µs, calls {PAUSES[pause]} µs apart"
        yield run.timed(
            f"{body}-{pause}", "a call on two threads", shape, taken[2], {"one thread": taken[1]}, unit="µs"
        )


def _taken(library: ctypes.CDLL, threads: int, body: str, pause: str, rounds: int) -> Sample:
    nanoseconds = np.zeros(rounds)
    length, work = BODIES[body]
    numbers = (ctypes.c_int(threads), ctypes.c_int64(length), ctypes.c_double(work))
    counts = (ctypes.c_int64(PAUSES[pause]), ctypes.c_int64(rounds))
    library.bench_threads(*numbers, *counts, ctypes.c_void_p(nanoseconds.ctypes.data))
    return Sample(tuple(nanoseconds * 1e-9))


if __name__ == "__main__":
    main(compared, __doc__)
