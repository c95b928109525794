"""Memory, events and graphs of a GPU, through the runtime that the library has open. Not for several threads."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from ctypes import byref, c_double, c_void_p

from ckgen.runtime.abi import Abi, RuntimeFailure
from ckgen.runtime.handles import Device, Handle


class Event(Handle):
    """A place on the stream, made by Gpu.event."""

    kind = "event"


class Graph(Handle):
    """What the stream was told while it was captured, made by Gpu.capture."""

    kind = "graph"


class Buffer:
    """Device memory, freed with the object. `address`: aligned to 256 bytes."""

    def __init__(self, gpu: Gpu, size: int, address: int) -> None:
        self._gpu = gpu
        self.size, self.address = size, address

    def __del__(self) -> None:
        if not sys.is_finalizing():  # the device's handle may be gone; the driver frees what is left
            self._gpu.release(self.address)


class Gpu:
    """One device. Every call raises RuntimeFailure where the runtime refuses it.

    `stream`: the address of that on which it works, for launches too; None is the default one, which waits for every
    other. `bus`: where the device is on the machine's.
    """

    def __init__(self, abi: Abi, device: Device) -> None:
        self._abi, self._device = abi, device
        self.driver = abi.call("gpu_driver", device.handle)
        self.bus = abi.call("gpu_bus", device.handle)
        self.stream: int | None = None

    def take_own_stream(self) -> None:
        """From here on it works on a stream of its own, which can be captured; that ends with the process."""
        self.stream = self._abi.create("stream_create", self._device.handle).value

    def buffer(self, size: int) -> Buffer:
        """Uninitialised memory; MemoryError where there is not enough."""
        found = c_void_p()
        try:
            self._abi.call("gpu_allocate", self._device.handle, max(size, 1), byref(found))
        except RuntimeFailure as failure:
            raise MemoryError(f"{size:,} bytes of the device: {failure}") from failure
        assert found.value is not None
        return Buffer(self, size, found.value)

    def release(self, address: int) -> None:
        """Of a buffer; what the runtime answers is of no use."""
        with suppress(RuntimeFailure):
            self._abi.call("gpu_release", self._device.handle, address)

    def upload(self, to: int, source: int, size: int) -> None:
        """From host memory, behind what was launched; returns when it is done."""
        self._abi.call("gpu_upload", self._device.handle, to, source, size)

    def download(self, to: int, source: int, size: int) -> None:
        """To host memory, behind what was launched; returns when it is done."""
        self._abi.call("gpu_download", self._device.handle, to, source, size)

    def synchronize(self) -> None:
        """Waits for the stream."""
        self._abi.call("gpu_synchronize", self._device.handle, self.stream)

    def event(self) -> Event:
        """A new one."""
        return Event(self._abi, self._abi.create("event_create", self._device.handle))

    def recorder(self, event: Event) -> Callable[[], None]:
        """What records the event on the stream."""
        return self._abi.caller("event_record", event.handle, self.stream, keep=event)

    def node(self, event: Event) -> Callable[[], None]:
        """What puts into the graph that is captured that the event is recorded there."""
        return self._abi.caller("event_capture", event.handle, self.stream, keep=event)

    def capture(self, calls: Iterable[Callable[[], object]]) -> Graph:
        """A graph of what the calls tell the stream."""
        self._abi.call("capture_begin", self._device.handle, self.stream)
        try:
            for call in calls:
                call()
        except BaseException:
            with suppress(RuntimeFailure):  # what went wrong is said already; the stream is of use again
                self._captured()
            raise
        return self._captured()

    def launch(self, graph: Graph) -> None:
        """Does what is in the graph."""
        self._abi.call("graph_launch", graph.handle, self.stream)

    def _captured(self) -> Graph:
        return Graph(self._abi, self._abi.create("capture_end", self._device.handle, self.stream))

    def microseconds(self, begin: Event, end: Event) -> float:
        """Between two recorded events; waits for the second."""
        found = c_double()
        self._abi.call("event_elapsed", begin.handle, end.handle, byref(found))
        return found.value
