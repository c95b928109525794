"""MX-FP8 operands, their values by the formats' definitions, and kernels of ours launched on them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from ml_dtypes import bfloat16
from numpy.typing import NDArray
from step_support import CHIPS, table

from amd_support import code_object_of
from ckgen_emulator.bindings import Emulator, Options, Run

Bytes = NDArray[np.uint8]
Float = NDArray[np.float64]
BLOCK = 32
E4M3_NAN, E8M0_NAN = 0x7F, 0xFF
_FLOAT32, _TO_BF16, _LEAST_BF16 = 2.0**-23, 2.0**-8, 2.0**-133


def e4m3(codes: Bytes) -> Float:
    """OCP E4M3: sign, 4 bits of exponent with bias 7, 3 of mantissa; no infinity, all ones are NaN."""
    exponent, mantissa = (codes >> 3 & 15).astype(int), (codes & 7) / 8.0
    normal = np.ldexp(1.0 + mantissa, exponent - 7)
    value = np.where(exponent == 0, np.ldexp(mantissa, -6), normal)
    return np.where(codes & 0x7F == 0x7F, np.nan, np.where(codes & 0x80, -value, value))


def e8m0(codes: Bytes) -> Float:
    """A power of two with bias 127; 255 is NaN."""
    return np.where(codes == E8M0_NAN, np.nan, np.ldexp(1.0, codes.astype(int) - 127))


@dataclass(frozen=True, slots=True)
class MxRows:
    """Rows of e4m3 codes and of their scales' codes."""

    codes: Bytes
    scales: Bytes

    @property
    def values(self) -> Float:
        """What they stand for."""
        return e4m3(self.codes) * np.repeat(e8m0(self.scales), BLOCK, axis=-1)


def mx_rows(generator: np.random.Generator, shape: tuple[int, ...], spread: int = 6) -> MxRows:
    """All codes but NaN, subnormal ones too; scales within 2^±spread of 1."""
    codes = generator.integers(0, 256, shape, dtype=np.uint8)
    codes[codes & 0x7F == E4M3_NAN] = 0
    scales = generator.integers(127 - spread, 128 + spread, (*shape[:-1], shape[-1] // BLOCK), dtype=np.uint8)
    return MxRows(codes, scales)


def product(a: Float, b: Float) -> tuple[Float, Float]:
    """A times the transpose of B, and how far sums in fp32 in any order and a rounding to bf16 may take it."""
    with np.errstate(invalid="ignore"):
        exact, absolute = a @ b.T, np.abs(a) @ np.abs(b).T
    of_sums = a.shape[-1] * _FLOAT32 * absolute
    return exact, of_sums + _TO_BF16 * (np.abs(exact) + of_sums) + _LEAST_BF16


def close(c: NDArray[Any], exact: Float, bound: Float) -> bool:
    """Whether each element is within its bound, and NaN where it must be."""
    nan = np.isnan(exact)
    got = c.astype(np.float64)
    return bool(np.array_equal(np.isnan(got), nan) and (np.abs(got - exact)[~nan] <= bound[~nan]).all())


def no_result(*shape: int) -> NDArray[Any]:
    """bf16 memory that nothing has been written to."""
    return np.full(shape, np.nan, bfloat16)


@cache
def code_object(text: str, arch: str = "gfx950") -> bytes:
    """A unit of these kernels, compiled."""
    return code_object_of("mxfp8", "hip", arch, text).read_bytes()


def launched(
    code: bytes,
    symbol: str,
    grid: tuple[int, int],
    threads: int,
    args: bytes,
    read: list[NDArray[Any]],
    written: NDArray[Any],
    options: Options | None = None,
    arch: str = "gfx950",
) -> Run:
    """One launch with all checks; nothing may be found."""
    with Emulator(CHIPS[arch], table(arch)) as emulator:
        for array in read:
            emulator.add(array, writable=False)
        emulator.add(written, written=False)
        run = emulator.launch(
            emulator.load(code), symbol, [*grid, 1], [threads, 1, 1], args, options or Options(seed=7)
        )
    assert not run.findings, run.findings
    return run
