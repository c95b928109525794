"""Under which conditions candidates are measured, and what their process may take."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Place(Enum):
    """Where kernels run. HOST: this CPU. DEVICE: the process's current GPU. TWINS: this CPU, in place of a GPU that is
    simulated: what its instances' host twins take says nothing of the GPU's time."""

    HOST = "host"
    DEVICE = "device"
    TWINS = "twins"


@dataclass(frozen=True, slots=True)
class Conditions:
    """warmup: calls ahead of the timed ones, fewer where times hold still.

    rotating: sets of operands that are used in turn; 0: by their bytes, so that what does not stay in the cache is
    never half in it. flush: the caches are emptied ahead of each call, a GPU's by reading. tolerance: the largest error
    over the largest value that is right; None: every element within the bound that is derived for it. graph: a GPU's
    calls are timed in a graph that is replayed, rather than launched one by one.
    """

    warmup: int = 50
    rotating: int = 0
    flush: bool = False
    tolerance: float | None = None
    graph: bool = False


@dataclass(frozen=True, slots=True)
class Limits:
    """Of a worker process. seconds: without a sign of life, of the CPU on each thread, ten times that of the clock;
    while operands and references are made, `prepare_seconds`. memory: bytes of address space, 0: what is free; none is
    set where a GPU's driver maps its own."""

    seconds: float = 30.0
    prepare_seconds: float = 300.0
    memory: int = 0
