"""Where operands lie that kernels read and write: this process's memory, or a GPU's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from ckgen.fuzz.memory import Region
from ckgen.fuzz.operation import Given
from ckgen.measure.rotate import Placing, flusher, placings
from ckgen.measure.timing import Clock, last_level_cache

FILL = 0xFF
"""Of workspaces, before a kernel runs and beside them."""


class Workspace(Protocol):
    """Memory of a plan, between guard bands."""

    @property
    def size(self) -> int:
        """Bytes."""
        ...

    @property
    def address(self) -> int:
        """Of the first."""
        ...

    def has_clean_bands(self) -> bool:
        """Whether nothing was written beside it."""
        ...


class Placed(Protocol):
    """The operands of one Given; sets of them are made as they are asked for, the first is checked."""

    def sets(self, count: int, beside: Sequence[Placing] = ()) -> list[Placing]:
        """So many sets, each somewhere else. What these hold as those of `beside` do may lie where it lies there."""
        ...

    def send(self) -> None:
        """Makes the first set what the Given holds, ahead of a run that is checked."""
        ...

    def fetch(self) -> None:
        """Makes what is written in the Given what the first set holds, behind such a run."""
        ...

    def out_of_bounds_writes(self) -> str:
        """As Given's; the Given's results are looked at before."""
        ...

    def restore(self) -> None:
        """Makes the Given what it was before any run."""
        ...


class Memory(Protocol):
    """Where they lie."""

    @property
    def cache(self) -> int:
        """Bytes of the last cache ahead of it."""
        ...

    @property
    def clock(self) -> Clock | None:
        """None where calls are done when they return."""
        ...

    @property
    def stream(self) -> int | None:
        """The address of that on which kernels are timed; None: the default one."""
        ...

    def place(self, given: Given) -> Placed:
        """Of one problem's data."""
        ...

    def workspace(self, size: int) -> Workspace:
        """New memory, filled with FILL."""
        ...

    def flusher(self) -> Callable[[], object]:
        """What empties the cache; UsageError where nothing does."""
        ...


class HostMemory:
    """See Memory."""

    def __init__(self) -> None:
        self.cache = last_level_cache()
        self.clock: Clock | None = None
        self.stream: int | None = None

    def place(self, given: Given) -> HostPlaced:
        """See Memory."""
        return HostPlaced(given)

    def workspace(self, size: int) -> HostWorkspace:
        """See Memory."""
        return HostWorkspace(size)

    def flusher(self) -> Callable[[], object]:
        """See Memory."""
        return flusher()


class HostWorkspace:
    """See Workspace."""

    def __init__(self, size: int) -> None:
        self._region = Region(size, FILL)
        self.size, self.address = size, self._region.address

    def has_clean_bands(self) -> bool:
        """See Workspace."""
        return self._region.has_clean_bands()


class HostPlaced:
    """See Placed; the first set is the Given's own memory."""

    def __init__(self, given: Given) -> None:
        self._given = given
        self._sets, self._shared = placings(given, 1), list[Placing]()

    def sets(self, count: int, beside: Sequence[Placing] = ()) -> list[Placing]:
        """See Placed."""
        if beside:
            if len(self._shared) < count:
                self._shared = placings(self._given, count, beside)
            return self._shared[:count]
        if len(self._sets) < count:
            self._sets = placings(self._given, count)
        return self._sets[:count]

    def send(self) -> None:
        """See Placed; a kernel that was timed has left its result there."""

    def fetch(self) -> None:
        """See Placed."""

    def out_of_bounds_writes(self) -> str:
        """See Placed."""
        return self._given.out_of_bounds_writes()

    def restore(self) -> None:
        """See Placed."""
        for matrix in self._given.matrices():
            matrix.restore()
