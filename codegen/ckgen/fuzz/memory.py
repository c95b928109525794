"""Matrices in memory between guard bands: what a kernel writes beside its own elements is found."""

from __future__ import annotations

import mmap
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import as_strided

Bytes = npt.NDArray[np.uint8]

GUARD = 512
"""Bytes before and behind."""
ALIGNMENT = 64
_SPARSE_FROM = 1 << 24
_NORESERVE = 0x4000  # Linux
_NEAR = 4096


@dataclass(frozen=True, slots=True)
class Strides:
    """`batch` times `lines` lines, in bytes."""

    batch: int
    lines: int
    length: int
    pitch: int
    batch_pitch: int

    @property
    def extent(self) -> int:
        """From the first byte to behind the last."""
        if not self.lines:
            return 0
        return (self.batch - 1) * self.batch_pitch + (self.lines - 1) * self.pitch + self.length

    @property
    def has_no_gaps(self) -> bool:
        """Whether its elements are all bytes from the first to the last."""
        return self.extent == self.batch * self.lines * self.length


class Region:
    """Bytes of `fill` between guard bands, at an aligned address. Large ones take no memory until they are touched and
    are 0."""

    def __init__(self, size: int, fill: int) -> None:
        whole = size + 2 * GUARD + ALIGNMENT
        self.is_sparse = whole > _SPARSE_FROM
        self.fill = 0 if self.is_sparse else fill
        if self.is_sparse:
            flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE
            self.all: Bytes = np.frombuffer(mmap.mmap(-1, whole, flags=flags), np.uint8)
        else:
            self.all = np.full(whole, fill, np.uint8)
        first = GUARD + -(self.all.ctypes.data + GUARD) % ALIGNMENT
        self.own: Bytes = self.all[first : first + size]
        self._bands = (self.all[:first], self.all[first + size :])
        self.address = int(self.all.ctypes.data) + first
        """Of the first byte that is not guard."""

    def is_clean(self) -> bool:
        """Whether every byte, guards too, is still the fill."""
        return bool((self.all == self.fill).all())

    def has_clean_bands(self) -> bool:
        """Whether the guards are still the fill; what is between them is not touched."""
        return all(bool((band == self.fill).all()) for band in self._bands)


class Matrix:
    """Lines with gaps in a Region; `stored` is their content, [batch, lines, bytes], None for what is to be written."""

    def __init__(self, strides: Strides, fill: int, stored: Bytes | None) -> None:
        self.region = Region(strides.extent, fill)
        self.strides = strides
        shape = (strides.batch, strides.lines, strides.length)
        steps = (strides.batch_pitch, strides.pitch, 1)
        self.lines: Bytes = as_strided(self.region.own, shape, steps, writeable=True)
        self.stored = self._first_content = stored
        if stored is not None:
            self.lines[...] = stored

    @property
    def address(self) -> int:
        """Of the first element."""
        return self.region.address

    def out_of_bounds_writes(self) -> str:
        """What a kernel did to bytes that are not its own: those of an operand, of gaps and of guards; else empty.

        Ends the content, but of a large region without gaps; one with gaps is looked at only near its lines.
        """
        if self.stored is not None and not np.array_equal(self.lines, self.stored):
            return "its elements were written"
        if self.region.is_sparse and self.strides.has_no_gaps:
            return "" if self.region.has_clean_bands() else "a byte beside it was written"
        self.lines[...] = self.region.fill
        if not self.region.is_sparse:
            return "" if self.region.is_clean() else f"byte {self._first()} was written"
        return "" if self._is_clean_near() else "a byte near a line was written"

    def copy(self) -> Matrix:
        """Another one with the same content, somewhere else."""
        return Matrix(self.strides, self.region.fill, self.lines)

    def restore(self) -> None:
        """Makes the content what it was before a run."""
        content = self.stored if self.stored is not None else self._first_content
        self.lines[...] = content if content is not None else self.region.fill

    def _first(self) -> int:
        """The first byte that is not the fill, from the first element."""
        at = int(np.flatnonzero(self.region.all != self.region.fill)[0])
        return at - (self.region.address - int(self.region.all.ctypes.data))

    def _is_clean_near(self) -> bool:
        strides, start = self.strides, self.region.address - int(self.region.all.ctypes.data)
        for batch in range(strides.batch):
            for line in range(strides.lines):
                at = start + batch * strides.batch_pitch + line * strides.pitch
                near = self.region.all[max(at - _NEAR, 0) : at + strides.length + _NEAR]
                if near.any():
                    return False
        return True


def plain(stored: Bytes, fill: int) -> Matrix:
    """An array without gaps."""
    flat = np.ascontiguousarray(stored).reshape(1, 1, -1)
    size = flat.shape[-1]
    return Matrix(Strides(1, 1, size, size, size), fill, flat)
