"""Stream-K kernels without the dispatcher: compiled once, launched on small chips, as they are or changed."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from step_support import CHIPS, table

from amd_support import code_object_of
from ckgen.families.common.comparison import Comparison, compare
from ckgen.families.common.storage import encode
from ckgen.families.gemm.enums import Layout
from ckgen.families.gemm.reference import store_a, store_b
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.config import Tile
from ckgen.model.tuned_row import Shape
from ckgen_emulator.bindings import Emulator, Options, Run
from ckgen_emulator.gemm.problem import GemmProblem, expected_of, operands_of

_FLAG_BYTES = 4
_ACC_BYTES = 4


@cache
def code_object(text: str, arch: str) -> bytes:
    """The code object of a ck_tile device unit, from the build's cache where it is there."""
    return code_object_of("a stream-K kernel", "ck_tile", arch, text).read_bytes()


@dataclass(frozen=True)
class Case:
    """A problem on a chip of `grid` compute units that hold one workgroup each; C's rows lie `gap` elements apart."""

    signature: GemmSignature
    tile: Tile
    shape: tuple[int, int, int]
    grid: int
    seed: int = 0
    gap: int = 0
    threads: int = 1

    def partition(self) -> tuple[int, int, int, int, int]:
        """Tiles, iterations per tile, grid, data-parallel and stream-K tiles: StreamKPartition's fields."""
        m, n, k = self.shape
        tiles = -(-m // self.tile.m) * -(-n // self.tile.n)
        rest = tiles % self.grid
        split = 0 if rest == 0 else self.grid + rest if tiles > self.grid else tiles
        return tiles, -(-k // self.tile.k), self.grid, tiles - split, split


@dataclass(frozen=True)
class Outcomes:
    """What a launch executed and found, what C is worth, and whether the memory between its rows is as it was."""

    run: Run
    c: Comparison
    gaps_untouched: bool

    def rules(self) -> set[str]:
        """The kinds of findings."""
        return {finding.rule for finding in self.run.findings}

    def ok(self) -> bool:
        """Whether all is right."""
        return self.c.ok and self.gaps_untouched and not self.run.findings


def launch(code: bytes, symbol: str, arch: str, case: Case, *, adds: bool) -> Outcomes:
    """One launch with StreamKArgs as the kernel takes them; C is zero before it where the kernel adds to it."""
    m, n, k = case.shape
    layout = case.signature.layout
    problem = GemmProblem(Shape(0, m, n, k), seed=case.seed)
    operands = operands_of(case.signature, problem)
    a, b = (_bytes(stored) for stored in (store_a(operands), store_b(operands)))
    c = encode(np.zeros((m, n + case.gap)), case.signature.c)
    c.view(np.uint8)[...] = 0xA5
    if adds:
        c[:, :n] = encode(np.zeros((m, n)), case.signature.c)
    before = c.copy()
    slices = np.zeros(case.grid * case.tile.m * case.tile.n * _ACC_BYTES, np.uint8)
    flags = np.zeros(case.grid * _FLAG_BYTES, np.uint8)
    lda = k if layout in (Layout.RCR, Layout.RRR) else m
    ldb = n if layout in (Layout.RRR, Layout.CRR) else k
    pointers = (a.ctypes.data, b.ctypes.data, 0, c.ctypes.data)
    gemm = struct.pack("<4Q8i", *pointers, m, n, k, lda, ldb, 0, n + case.gap, 1)
    args = gemm + struct.pack("<5q2Q", *case.partition(), slices.ctypes.data, flags.ctypes.data)
    chip = replace(CHIPS[arch], compute_units=case.grid, xcds=min(case.grid, 2))
    with Emulator(chip, table(arch)) as emulator:
        for array in (a, b, flags):
            emulator.add(array)
        emulator.add(slices, written=False)
        emulator.add(_bytes(c), written=adds)
        module = emulator.load(code)
        options = Options(seed=case.seed, threads=case.threads, most_instructions=5_000_000)
        run = emulator.launch(module, symbol, [case.grid, 1, 1], [256, 1, 1], args, options)
    found = compare(expected_of(operands, problem), np.ascontiguousarray(c[:, :n]))
    return Outcomes(run, found, bool((_bytes(c[:, n:]) == _bytes(before[:, n:])).all()))


def without(code: bytes, instruction: bytes) -> bytes:
    """The code object with `s_nop 0` wherever the instruction stands; it must stand somewhere."""
    nop = struct.pack("<I", 0xBF800000)
    assert instruction in code and len(instruction) % len(nop) == 0
    return code.replace(instruction, nop * (len(instruction) // len(nop)))


def _bytes(array: NDArray[Any]) -> NDArray[np.uint8]:
    """The array's own memory where it is contiguous."""
    return np.ascontiguousarray(array).view(np.uint8)
