"""Where matrix instructions keep the entries of their matrices: the ISA's definition as numpy index arrays.

Stated from matrix entry to register and lane (the emulator goes the other way round): AMD's Matrix Instruction
Calculator, gfx9, and Composable Kernel's register maps for the 8-, 6- and 4-bit instructions of gfx950.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

LANES = 64
FORMATS = ("fp8", "bf8", "fp6", "bf6", "fp4")  # by number in cbsz and blgp

_NAME = re.compile(
    r"v_mfma_(?P<scale>scale_)?(?P<result>f32|i32|f64)_(?P<m>\d+)x\d+x(?P<k>\d+)(?:_(?P<blocks>\d+)b)?_?"
    r"(?P<types>xf32|f32|f64|f16|bf16_1k|bf16|i8|f8f6f4|(?:fp8|bf8)_(?:fp8|bf8))"
)
_OLD_BLOCKS = {"32x32x1f32": 2, "16x16x1f32": 4, "4x4x1f32": 16, "32x32x4f16": 2, "16x16x4f16": 4, "4x4x4f16": 16,
               "32x32x4bf16_1k": 2, "16x16x4bf16_1k": 4, "4x4x4bf16_1k": 16, "32x32x2bf16": 2, "16x16x2bf16": 4,
               "4x4x2bf16": 16, "32x32x4i8": 2, "16x16x4i8": 4, "4x4x4i8": 16, "4x4x4f64": 4}  # fmt: skip

_BITS = {"fp6": 6, "bf6": 6, "fp4": 4}
_TYPES: dict[str, Any] = {
    "f64": np.float64, "f32": np.float32, "xf32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
    "i8": np.int8, "i32": np.int32, "fp8": ml_dtypes.float8_e4m3fn, "bf8": ml_dtypes.float8_e5m2,
    "fp8_fnuz": ml_dtypes.float8_e4m3fnuz, "bf8_fnuz": ml_dtypes.float8_e5m2fnuz,
    "fp6": ml_dtypes.float6_e2m3fn, "bf6": ml_dtypes.float6_e3m2fn, "fp4": ml_dtypes.float4_e2m1fn,
}  # fmt: skip

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Matrix:
    """One matrix instruction: D (m x m) = A (m x k) * B (k x m) + C, `blocks` times."""

    mnemonic: str
    m: int
    k: int
    blocks: int
    a: str
    b: str
    result: str
    scaled: bool

    @property
    def mixed(self) -> bool:
        """Whether cbsz and blgp choose the operands' formats."""
        return self.mnemonic.endswith("f8f6f4")

    @property
    def per_lane(self) -> int:
        """Elements of A, and of B, in one lane."""
        return self.k * self.m * self.blocks // LANES

    def registers(self, kind: str) -> int:
        """Registers of the elements that a lane has of an operand of this type."""
        return self.per_lane * bits_of(kind) // 32

    @property
    def result_registers(self) -> int:
        """Registers of C and of D."""
        return self.m * self.m * self.blocks // LANES * (2 if self.result == "f64" else 1)

    def with_formats(self, a: int, b: int) -> Matrix:
        """The instruction with cbsz and blgp as given."""
        return replace(self, a=FORMATS[a], b=FORMATS[b])


def parse(mnemonic: str, *, fnuz: bool = False) -> Matrix:
    """An instruction by its name; `fnuz`: fp8 and bf8 are gfx942's. AssertionError for another name."""
    found = _NAME.fullmatch(mnemonic)
    assert found, mnemonic
    types = found["types"].removesuffix("_1k")
    old = mnemonic.removeprefix(f"v_mfma_{found['result']}_")
    blocks = int(found["blocks"] or _OLD_BLOCKS.get(old, 1))
    a, b = ("fp8", "fp8") if types == "f8f6f4" else (types.split("_") * 2)[:2]
    suffix = "_fnuz" if fnuz else ""
    a, b = (one + suffix if one in ("fp8", "bf8") else one for one in (a, b))
    return Matrix(mnemonic, int(found["m"]), int(found["k"]), blocks, a, b, found["result"], bool(found["scale"]))


def bits_of(kind: str) -> int:
    """Bits of an element."""
    return _BITS.get(kind) or int(np.dtype(_TYPES[kind]).itemsize) * 8


def codes_of(values: Array, kind: str) -> NDArray[np.uint64]:
    """Bits of values, converted to the type first."""
    typed = np.asarray(values).astype(_TYPES[kind])
    return typed.view(f"u{typed.dtype.itemsize}").astype(np.uint64)


def values_of(codes: Array, kind: str) -> Array:
    """The other way round, as f64."""
    size = np.dtype(_TYPES[kind]).itemsize
    with np.errstate(invalid="ignore"):  # signalling NaNs
        return np.asarray(codes).astype(f"u{size}").view(_TYPES[kind]).astype(np.float64)


def input_place(one: Matrix, kind: str) -> tuple[Array, Array]:
    """Lane and element in that lane of A[block, i, k]; of B[block, k, j] with j for i, axes swapped."""
    block, i, k = np.indices((one.blocks, one.m, one.k))
    if one.mixed and bits_of(kind) == 8:
        half, rest = np.divmod(k, one.k // 2)
        group, element = rest // 16, 16 * half + rest % 16
    else:
        group, element = np.divmod(k, one.per_lane)
    return i + one.m * (block + one.blocks * group), element


def result_place(one: Matrix) -> tuple[Array, Array]:
    """Register (pair) and lane of C and D[block, i, j]."""
    block, i, j = np.indices((one.blocks, one.m, one.m))
    strip_rows = 1 if one.result == "f64" else 4  # rows that lie in as many registers, in the same lanes
    strip, row = np.divmod(i, strip_rows)
    if one.m == 4:
        return row, 4 * block + j + 16 * strip
    strips = LANES // one.m  # that lie side by side
    register = block * (one.m * one.m // LANES) + strip // strips * strip_rows + row
    return register, strip % strips * one.m + j


def pack(codes: Array, bits: int) -> NDArray[np.uint32]:
    """Codes[lane, element] to registers[register, lane]: elements from bit 0 on, without gaps."""
    planes = codes.astype(np.uint64)[:, :, None] >> np.arange(bits, dtype=np.uint64) & 1
    stream = np.packbits(planes.astype(np.uint8).reshape(LANES, -1), axis=1, bitorder="little")
    return np.ascontiguousarray(stream.view(np.uint32).T)


def input_registers(one: Matrix, codes: Array, kind: str) -> NDArray[np.uint32]:
    """Registers of A[block, i, k], given as codes; for B give B[block, j, k]."""
    lane, element = input_place(one, kind)
    held = np.zeros((LANES, one.per_lane), np.uint64)
    held[lane, element] = codes
    return pack(held, bits_of(kind))


def result_to_registers(one: Matrix, values: Array) -> NDArray[np.uint32]:
    """Registers of C[block, i, j]."""
    register, lane = result_place(one)
    typed = values.astype(_TYPES[one.result])
    words = typed.view(np.uint32).reshape(*typed.shape, -1)
    parts = words.shape[-1]
    held = np.zeros((one.result_registers, LANES), np.uint32)
    for part in range(parts):
        held[register * parts + part, lane] = words[..., part]
    return held


def result_from_registers(one: Matrix, rows: NDArray[np.uint32]) -> Array:
    """D[block, i, j]."""
    register, lane = result_place(one)
    parts = 2 if one.result == "f64" else 1
    words = np.stack([rows[register * parts + part, lane] for part in range(parts)], axis=-1)
    return np.ascontiguousarray(words).view(_TYPES[one.result])[..., 0]


def product(a: Array, b: Array, c: Array) -> Array:
    """A[block, i, k] * B[block, j, k] + C in f64 (exact for small integers)."""
    return np.einsum("bik,bjk->bij", a.astype(np.float64), b.astype(np.float64)) + c
