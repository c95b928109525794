"""Waves with something in their registers and LDS, for tests of single LDS instructions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from step_support import assemble, emulator

from ckgen_emulator.bindings import Options, Wave

LANES = 64
SIZE = 16384
SOME = 0xF0F0_1234_8001_FFFE  # an EXEC with holes

Rows = NDArray[np.uint32]


def lanes_of(mask: int) -> NDArray[np.bool_]:
    return np.array([mask >> lane & 1 for lane in range(LANES)], bool)


def fresh(seed: int, mask: int = 2**LANES - 1, size: int = SIZE) -> Wave:
    random = np.random.default_rng(seed)
    wave = Wave(size)
    wave.vectors[:] = random.integers(0, 2**32, wave.vectors.shape, np.uint32)
    wave.lds[:] = random.integers(0, 256, size, np.uint8)
    wave.exec_mask = mask
    return wave


def step(text: str, wave: Wave, arch: str = "gfx942", *, checked: bool = True) -> tuple[str, ...]:
    """The rules that were broken."""
    run = emulator(arch).step(assemble(text + "\ns_waitcnt lgkmcnt(0)\n", arch), wave, Options(checked=checked))
    return tuple(found.rule for found in run.findings)
