"""Memory of the HIP runtime of the emulator, or of the host, and what is put into it."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

_TO_DEVICE, _TO_HOST = 1, 2
_LEAST_BYTES = 16  # of an array without elements, which has an address all the same
_Array = npt.NDArray[Any]


class HipError(Exception):
    """A HIP call that failed."""


class Hip:
    """The HIP functions that a caller of the dispatcher needs."""

    def __init__(self, path: str) -> None:
        self._hip = ctypes.CDLL(path)
        self._hip.hipGetErrorString.restype = ctypes.c_char_p

    def allocate(self, size: int) -> int:
        """Device memory, that counts as uninitialised."""
        memory = ctypes.c_void_p()
        self._done(self._hip.hipMalloc(ctypes.byref(memory), ctypes.c_size_t(size)))
        assert memory.value is not None
        return memory.value

    def free(self, memory: int) -> None:
        """Gives it back."""
        self._done(self._hip.hipFree(ctypes.c_void_p(memory)))

    def upload(self, memory: int, data: _Array) -> None:
        """Copies to the device."""
        self._copy(memory, data.ctypes.data, data.nbytes, _TO_DEVICE)

    def download(self, data: _Array, memory: int) -> None:
        """Copies from the device."""
        self._copy(data.ctypes.data, memory, data.nbytes, _TO_HOST)

    def watch(self, memory: int, size: int) -> None:
        """Launches from now on report what wrote those bytes last; no bytes: no longer."""
        self._done(self._hip.ckgen_emu_hip_watch(ctypes.c_void_p(memory), ctypes.c_size_t(size)))

    def synchronize(self) -> None:
        """Waits; HipError for a launch that failed."""
        self._done(self._hip.hipDeviceSynchronize())

    def _copy(self, to: int, source: int, size: int, kind: int) -> None:
        pointers = (ctypes.c_void_p(to), ctypes.c_void_p(source))
        self._done(self._hip.hipMemcpy(*pointers, ctypes.c_size_t(size), kind))

    def _done(self, error: int) -> None:
        if error:
            raise HipError(f"HIP error {error}: {self._hip.hipGetErrorString(error).decode()}")


@dataclass(slots=True)
class Buffers:
    """The bytes of a problem on the host or on the device, and the arguments that point to them."""

    hip: Hip | None
    kept: list[_Array] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)
    results: list[tuple[_Array, int]] = field(default_factory=list)

    def give(self, data: _Array | None) -> int | None:
        """The address of a copy."""
        if data is None:
            return None
        stored = np.ascontiguousarray(data) if data.size else np.zeros(_LEAST_BYTES, np.uint8)
        if self.hip is None:
            self.kept.append(stored)
            return stored.ctypes.data
        place = self.hip.allocate(stored.nbytes)
        self.memory.append(place)
        self.hip.upload(place, stored)
        return place

    def result(self, c: _Array) -> int:
        """The address of a C that nobody has written; on the host it is NaN where the type has one."""
        if self.hip is None:
            self.kept.append(c)
            return c.ctypes.data
        self.memory.append(self.hip.allocate(c.nbytes))
        self.results.append((c, self.memory[-1]))
        return self.memory[-1]

    def place_of(self, c: _Array, index: int) -> tuple[int, int]:
        """Address and bytes of an element of a result on the device."""
        (place,) = (place for result, place in self.results if result is c)
        return place + index * c.itemsize, c.itemsize

    def fetch(self) -> None:
        """Brings every result to where the host has it."""
        for c, place in self.results:
            assert self.hip is not None
            self.hip.download(c, place)

    def free(self) -> None:
        """Gives back what is on the device."""
        for place in self.memory:
            assert self.hip is not None
            self.hip.free(place)
        self.memory.clear()
