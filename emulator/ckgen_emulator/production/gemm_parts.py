"""What AMD's GEMM kernels have in common: their sizes, the tile in their names, and how most argument structs begin."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ckgen_emulator.production.slots import F32, U32, Arguments, Pointer
from ckgen_emulator.production.wheel import KernelFile

THREADS = 256
_TILE = re.compile(r"_(\d+)x(\d+)(?:_|$)")


@dataclass(frozen=True, slots=True)
class GemmProblem:
    """The sizes of a GEMM and the splits of its K that are asked for."""

    m: int
    n: int
    k: int
    splits: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class StridedArguments(Arguments):
    """Strides of a row, in the kernel's own unit; `c`, `beta` and the strides with 1 are not used."""

    d: Pointer = None
    c: Pointer = None
    a: Pointer = None
    b: Pointer = None
    alpha: F32 = 1
    beta: F32 = 0
    stride_d0: U32 = 0
    stride_d1: U32 = 0
    stride_c0: U32 = 0
    stride_c1: U32 = 0
    stride_a0: U32 = 0
    stride_a1: U32 = 0
    stride_b0: U32 = 0
    stride_b1: U32 = 0
    m: U32 = 0
    n: U32 = 0
    k: U32 = 0


def tile_of(file: KernelFile) -> tuple[int, int] | None:
    """M and N of the tile that a kernel's name has, as in I8gemm_bf16_perTokenI8_BpreShuffle_192x128."""
    found = _TILE.search(file.stem)
    return (int(found[1]), int(found[2])) if found is not None else None
