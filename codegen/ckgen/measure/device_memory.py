"""Operands in the memory of a GPU, and its clocks: events on its stream, or in graphs of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ckgen.fuzz.memory import GUARD, Bytes, Matrix
from ckgen.fuzz.operation import Given
from ckgen.measure.memory import FILL
from ckgen.measure.rotate import Placing, moved
from ckgen.model.arch import ArchSpec
from ckgen.model.errors import UsageError
from ckgen.runtime.gpu import Buffer, Gpu

_BEFORE = 1024
"""Bytes of a buffer ahead of a matrix: its guard, and what its own alignment takes there."""
_WHOLE, _END = 1 << 24, 1 << 22
"""Of an operand that is read, up to so many bytes are held against what they were; of a larger one its two ends."""
_SWEEPS = (2, 4, 8, 16)
"""Of so many the fewest that last longer than this thread takes to launch."""
_SLOW = 0.75
"""Where launching the sweeps alone takes this part of what they last, no number of them keeps a device busy."""


def cache_bytes(arch: ArchSpec) -> int:
    """Of the last cache ahead of a GPU's memory."""
    return arch.last_level_cache_bytes or arch.xcds * arch.l2_bytes_per_xcd


class DeviceClock:
    """See Clock. Ahead of the calls the device is busy with reading other memory, so often that this thread's launches
    are all waiting when the first begins; a sample for which it was not is taken again."""

    most = 16

    def __init__(self, gpu: Gpu) -> None:
        self._gpu = gpu
        self._begin, self._end = gpu.event(), gpu.event()
        self._record_begin, self._record_end = gpu.recorder(self._begin), gpu.recorder(self._end)
        self._lasts: float | None = None
        self.sweep: Callable[[], object] | None = None

    def seconds(self, calls: Sequence[Callable[[], object]], before: Callable[[], object] | None) -> float:
        """See Clock."""
        first, *rest = calls
        ahead = () if before is not None else (first,)
        sweep = before if before is not None else self.sweep
        if sweep is None:
            return self._seconds((first,), rest)
        if self._lasts is None:
            self._lasts = self._seconds((sweep,), (sweep,))
        for times in _SWEEPS:
            began = time.perf_counter()
            for _ in range(times):
                sweep()
            swept = time.perf_counter()
            self._tell(ahead, rest)
            told = time.perf_counter()
            found = self._gpu.microseconds(self._begin, self._end) * 1e-6
            lasts = times * self._lasts
            if told - began <= lasts or swept - began > _SLOW * lasts:
                break
        return found

    def _seconds(self, ahead: Sequence[Callable[[], object]], calls: Sequence[Callable[[], object]]) -> float:
        self._tell(ahead, calls)
        return self._gpu.microseconds(self._begin, self._end) * 1e-6

    def _tell(self, ahead: Sequence[Callable[[], object]], calls: Sequence[Callable[[], object]]) -> None:
        for call in (*ahead, self._record_begin, *calls, self._record_end):
            call()


class GraphClock:
    """See Clock. The calls are nodes of a graph, and so are the events around them. Its second launch is timed: the
    first one's kernels begin later, as the graph is still on its way to the device."""

    most = 16

    def __init__(self, gpu: Gpu) -> None:
        self._gpu = gpu
        self._begin, self._end = gpu.event(), gpu.event()
        self._node_begin, self._node_end = gpu.node(self._begin), gpu.node(self._end)

    def seconds(self, calls: Sequence[Callable[[], object]], before: Callable[[], object] | None) -> float:
        """See Clock."""
        first, *rest = calls
        ahead = before if before is not None else first
        graph = self._gpu.capture((ahead, self._node_begin, *rest, self._node_end))
        for _ in range(2):
            self._gpu.launch(graph)
            self._gpu.synchronize()
        return self._gpu.microseconds(self._begin, self._end) * 1e-6


class DeviceMemory:
    """See Memory. With `graphs` what is timed is replayed in them."""

    def __init__(self, gpu: Gpu, cache: int, *, graphs: bool) -> None:
        self.gpu, self.cache = gpu, cache
        if graphs:
            gpu.take_own_stream()
        self.clock: DeviceClock | GraphClock = GraphClock(gpu) if graphs else DeviceClock(gpu)
        self._sweep: Callable[[], object] | None = None

    @property
    def stream(self) -> int | None:
        """See Memory."""
        return self.gpu.stream

    def sweep_by(self, sweep: Callable[[], object]) -> None:
        """What reads several times the cache's bytes."""
        self._sweep = sweep
        if isinstance(self.clock, DeviceClock):
            self.clock.sweep = sweep

    def place(self, given: Given) -> DevicePlaced:
        """See Memory."""
        return DevicePlaced(self.gpu, given)

    def workspace(self, size: int) -> DeviceWorkspace:
        """See Memory."""
        return DeviceWorkspace(self.gpu, size)

    def flusher(self) -> Callable[[], object]:
        """See Memory."""
        if self._sweep is None:
            raise UsageError("--flush: the library has no plain GEMM of 16-bit types, by which a GPU's cache is swept")
        return self._sweep


class DeviceWorkspace:
    """See Workspace."""

    def __init__(self, gpu: Gpu, size: int) -> None:
        self._gpu, self.size = gpu, size
        self._buffer = gpu.buffer(size + 2 * GUARD)
        self.address = self._buffer.address + GUARD
        filled = np.full(size + 2 * GUARD, FILL, np.uint8)
        gpu.upload(self._buffer.address, filled.ctypes.data, filled.size)

    def has_clean_bands(self) -> bool:
        """See Workspace."""
        bands = np.zeros(2 * GUARD, np.uint8)
        for at, source in ((0, self._buffer.address), (GUARD, self.address + self.size)):
            self._gpu.download(bands.ctypes.data + at, source, GUARD)
        return bool((bands == FILL).all())


class DevicePlaced:
    """See Placed. A matrix lies there with its guard bands, and comes back with them."""

    def __init__(self, gpu: Gpu, given: Given) -> None:
        self._gpu, self._given = gpu, given
        self._sets: list[Placing] = []
        self._first: list[tuple[Matrix, Buffer]] = []
        self._is_fetched = False

    def sets(self, count: int, beside: Sequence[Placing] = ()) -> list[Placing]:
        """See Placed."""
        while len(self._sets) < count:
            made = [(matrix, self._copy(matrix)) for matrix in self._given.matrices()]
            places = {matrix.address: buffer.address + _BEFORE for matrix, buffer in made}
            self._sets.append(moved(self._given.args, places, made))
            self._first = self._first or made
        return self._sets[:count]

    def send(self) -> None:
        """See Placed; what is only read is there."""
        self.sets(1)
        for matrix, buffer in self._written():
            self._upload(matrix, buffer)

    def fetch(self) -> None:
        """See Placed."""
        self._is_fetched = True
        for matrix, buffer in self._written():
            self._gpu.download(matrix.region.all.ctypes.data, _begin(matrix, buffer), matrix.region.all.size)

    def out_of_bounds_writes(self) -> str:
        """See Placed."""
        for matrix, buffer in self._first:
            if matrix.stored is None:
                if text := matrix.out_of_bounds_writes():
                    return f"a result: {text}"
            elif not all(self._is_same(matrix, buffer, part) for part in _looked_at(matrix.region.all)):
                return "bytes of an operand or beside it were written"
        return ""

    def restore(self) -> None:
        """See Placed; no kernel reaches the operands that lie here, and what was not fetched is as it was."""
        if self._is_fetched:
            for matrix, _ in self._written():
                matrix.restore()
            self._is_fetched = False

    def _written(self) -> Iterator[tuple[Matrix, Buffer]]:
        return (one for one in self._first if one[0].stored is None)

    def _is_same(self, matrix: Matrix, buffer: Buffer, part: slice) -> bool:
        expected = matrix.region.all[part]
        found = np.empty_like(expected)
        self._gpu.download(found.ctypes.data, _begin(matrix, buffer) + part.start, found.size)
        return np.array_equal(found, expected)

    def _copy(self, matrix: Matrix) -> Buffer:
        buffer = self._gpu.buffer(matrix.region.all.size + _BEFORE)
        self._upload(matrix, buffer)
        return buffer

    def _upload(self, matrix: Matrix, buffer: Buffer) -> None:
        self._gpu.upload(_begin(matrix, buffer), matrix.region.all.ctypes.data, matrix.region.all.size)


def _begin(matrix: Matrix, buffer: Buffer) -> int:
    """Where the first guard byte lies: the matrix itself is at a multiple of 256 bytes."""
    return buffer.address + _BEFORE - (matrix.address - int(matrix.region.all.ctypes.data))


def _looked_at(whole: Bytes) -> Iterator[slice]:
    if whole.size <= _WHOLE:
        yield slice(0, whole.size)
    else:
        yield from (slice(0, _END), slice(whole.size - _END, whole.size))
