"""Memory that instructions under test touch: an allocation between guards that must not change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray
from step_support import assemble, emulator

from ckgen_emulator.bindings import LANES, Emulator, Options, Run, Wave

GUARD = 4096
RAW_BUFFER = 0x00020000
SHARED_APERTURE, PRIVATE_APERTURE = 1 << 48, 2 << 48


class Area:
    """`bytes` that kernels may touch, with `GUARD` bytes on both sides that they may not."""

    def __init__(
        self, chip: Emulator, size: int, seed: int = 1, *, written: bool = True, writable: bool = True
    ) -> None:
        self._all = np.random.default_rng(seed).integers(0, 256, size + 2 * GUARD, np.uint8)
        start = GUARD + -self._all.ctypes.data % 64  # so that alignment is the test's choice
        self._all = self._all if start + size <= self._all.size else np.resize(self._all, start + size + GUARD)
        self.bytes: NDArray[np.uint8] = self._all[start : start + size]
        self._before = self._all.copy()
        self._start = start
        self.address = chip.add(self.bytes, written=written, writable=writable)

    def changed_outside(self) -> bool:
        """Whether a guard was written."""
        end = self._start + self.bytes.size
        now, then = self._all, self._before
        return not (np.array_equal(now[: self._start], then[: self._start]) and np.array_equal(now[end:], then[end:]))


@contextmanager
def area(arch: str, size: int, seed: int = 1, *, written: bool = True, writable: bool = True) -> Iterator[Area]:
    """An Area of the arch's chip, taken away at the end; its guards must be whole then."""
    chip = emulator(arch)
    made = Area(chip, size, seed, written=written, writable=writable)
    try:
        yield made
        assert not made.changed_outside()
    finally:
        chip.remove(made.bytes)


def wave(seed: int = 2) -> Wave:
    """A wave with random vector registers."""
    made = Wave(lds_bytes=65536)
    made.vectors[:] = np.random.default_rng(seed).integers(0, 2**32, made.vectors.shape, np.uint32)
    return made


def set_addresses(to: Wave, first: int, addresses: NDArray[np.uint64]) -> None:
    """64-bit values into a pair of vector registers."""
    to.vectors[first] = (addresses & 0xFFFFFFFF).astype(np.uint32)
    to.vectors[first + 1] = (addresses >> np.uint64(32)).astype(np.uint32)


def set_resource(to: Wave, first: int, base: int, records: int, *, stride: int = 0, word3: int = RAW_BUFFER,
                 swizzled: bool = False) -> None:  # fmt: skip
    """A buffer resource into four scalar registers."""
    to.set_pair(first, base | stride << 48 | swizzled << 63)
    to.scalars[first + 2] = records
    to.scalars[first + 3] = word3


def wave_at(memory: Area) -> Wave:
    """A random wave, but that v[2:3] of all lanes and the resource s[8:11] are the area, and v0 and v4 are 0."""
    made = wave()
    made.vectors[0] = made.vectors[4] = 0
    set_addresses(made, 2, np.full(LANES, memory.address, np.uint64))
    set_resource(made, 8, memory.address, memory.bytes.size)
    return made


def run(arch: str, text: str, state: Wave, *, checked: bool = True, all_written: bool = True) -> Run:
    """Runs assembler lines."""
    return emulator(arch).step(assemble(text, arch), state, Options(checked=checked), all_written=all_written)


def rules(result: Run) -> list[str]:
    """The rules of its findings, sorted."""
    return sorted(one.rule for one in result.findings)


def lanes_of(mask: int) -> NDArray[np.bool_]:
    """EXEC as one boolean per lane."""
    return np.array([mask >> lane & 1 for lane in range(LANES)], np.bool_)
