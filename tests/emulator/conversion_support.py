"""Runs one conversion over many values: sixteen registers per call, part of EXEC off, destinations filled before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray
from step_support import assemble, emulator

from ckgen_emulator.bindings import Wave

U32 = NDArray[np.uint32]
ROWS = 16
EXEC = 0xFFF7_F0FF_7FFF_1FFE
ACTIVE = np.array([lane for lane in range(64) if EXEC >> lane & 1])
OLD = 0xA5C33C5A

_SOURCES = {"a": 0, "b": 16, "c": 32}  # registers, one each
_PAIR, _DESTINATION = 64, 128  # a pair each: {aa}, {d} or {dd}


@dataclass(frozen=True)
class Mode:
    """The MODE register's fields; rounding 0 even, 1 up, 2 down, 3 zero."""

    round_f32: int = 0
    round_f16: int = 0
    denormals_f32: int = 3
    denormals_f16: int = 3
    saturate: bool = False

    @property
    def bits(self) -> int:
        """As the register holds them, DX10_CLAMP and IEEE on."""
        denormals = self.denormals_f32 << 4 | self.denormals_f16 << 6
        return self.round_f32 | self.round_f16 << 2 | denormals | 0x300 | self.saturate << 23


DEFAULT = Mode()
SATURATE = replace(DEFAULT, saturate=True)


def line(template: str, row: int) -> str:
    """One instruction: {a} {b} {c} sources, {aa} a source pair, {d} and {dd} destinations."""
    registers = {name: f"v{first + row}" for name, first in _SOURCES.items()}
    to, pair = _DESTINATION + 2 * row, _PAIR + 2 * row
    return template.format(d=f"v{to}", dd=f"v[{to}:{to + 1}]", aa=f"v[{pair}:{pair + 1}]", **registers)


@cache
def blobs(arch: str, templates: tuple[str, ...]) -> dict[str, bytes]:
    """Machine code of every template over all rows, from one call of the assembler."""
    code = assemble("\n".join(line(one, row) for one in templates for row in range(ROWS)), arch)
    sizes = [size for _, size, _ in emulator(arch).disassemble(code)]
    assert len(sizes) == ROWS * len(templates)
    ends = np.cumsum([0, *sizes])
    return {template: code[ends[index * ROWS] : ends[(index + 1) * ROWS]] for index, template in enumerate(templates)}


def run(arch: str, code: bytes, sources: Sequence[U32], mode: Mode = DEFAULT, pair: Sequence[U32] = ()) -> U32:
    """Both dwords of {dd} per value, shape (2, values). `sources`: of {a}, {b}, {c}; `pair`: the dwords of {aa}."""
    count = len((*sources, *pair)[0])
    chunk = ROWS * len(ACTIVE)
    out = np.zeros((2, -(-count // chunk) * chunk), np.uint32)
    for first in range(0, count, chunk):
        wave = Wave()
        wave.exec_mask, wave.mode = EXEC, mode.bits
        wave.vectors[:] = OLD
        for row, values in zip(_SOURCES.values(), sources, strict=False):
            wave.vectors[row : row + ROWS, ACTIVE] = _rows(values, first, chunk)
        for part, values in enumerate(pair):
            wave.vectors[_PAIR + part : _PAIR + 2 * ROWS : 2, ACTIVE] = _rows(values, first, chunk)
        done = emulator(arch).step(code, wave)
        assert done.instructions == ROWS + 1 and not done.findings, done.findings
        off = np.setdiff1d(np.arange(64), ACTIVE)
        assert (wave.vectors[:, off] == OLD).all()
        for part in range(2):
            results = wave.vectors[_DESTINATION + part : _DESTINATION + 2 * ROWS : 2, ACTIVE]
            out[part, first : first + chunk] = results.reshape(-1)
    return out[:, :count]


def _rows(values: U32, first: int, chunk: int) -> U32:
    taken = values[first : first + chunk]
    return np.resize(taken, chunk).astype(np.uint32).reshape(ROWS, -1)


def floats(seed: int = 0) -> U32:
    """f32 bits: zeros, denormals, infinities, NaNs, ties of every narrow format and its range's ends, random ones."""
    random = np.random.default_rng(seed)
    special = np.array([0, 1, 0x7FFFFF, 0x400000, 0x800000, 0x7F7FFFFF, 0x7F800000, 0x7FC00000, 0x7FA00000], np.uint32)
    exponents = np.arange(1, 255, dtype=np.uint32)[:, None] << np.uint32(23)
    tops = np.arange(0, 2**23, 2**18, dtype=np.uint32)[None, :]  # halves of steps down to four mantissa bits
    ties = (exponents | tops).reshape(-1)
    near = np.concatenate([ties, ties + np.uint32(1), ties - np.uint32(1)])
    half = (np.arange(0x38000 >> 1, 0x47900 >> 1, dtype=np.uint32) << np.uint32(13)) + np.uint32(0x1000)
    small = random.integers(0x33000000, 0x48000000, 20000, dtype=np.uint32)
    positive = np.concatenate([special, near, half[::17], small])
    anything = random.integers(0, 2**32, 20000, dtype=np.uint32)
    return np.concatenate([positive, positive | np.uint32(0x80000000), anything])


def as_f64(bits: U32) -> NDArray[np.float64]:
    """f32 bits as f64, signalling NaNs too."""
    with np.errstate(invalid="ignore"):
        return bits.view(np.float32).astype(np.float64)
