"""Runs one problem through the loaded library and checks the result against the definition."""

from __future__ import annotations

import ctypes
import time
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ckgen.families.gemm.enums import SCALE_BLOCK_N, Quant
from ckgen.families.gemm.reference import Operands, decode, encode, expect, make_operands, store_a, store_b
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.tuned_row import Shape
from ckgen.runtime import Choice, Device, Dispatcher, GemmArgsStruct, RuntimeLibrary
from ckgen.runtime.packed import fused_args, packed_args

CHECKED_ROWS = 16
CHECKED_BLOCKS = 3
BLOCK_COLUMNS = max(SCALE_BLOCK_N)
SEED = 1


@dataclass(frozen=True, slots=True)
class Outcome:
    """A selection, and if something was selected its time and its error: the largest, and in units of its bound."""

    choice: Choice
    milliseconds: float | None = None
    max_error: float | None = None
    excess: float | None = None

    @property
    def ok(self) -> bool:
        """Whether every checked element is within its bound; a refusal is no failure."""
        return self.excess is None or self.excess <= 1


def run_checked(
    library: RuntimeLibrary, dispatcher: Dispatcher, device: Device, signature: GemmSignature, shape: Shape
) -> Outcome:
    """Selects, runs and compares; a sample spread over all of C is checked.

    The sample: up to CHECKED_ROWS rows by CHECKED_BLOCKS blocks of BLOCK_COLUMNS columns, first and last among them.
    """
    problem = library.problem(
        signature.canonical(), shape.m, shape.n, shape.k, batch=shape.batch if signature.batched else 1
    )
    choice = dispatcher.select(problem, device)
    if choice.instance is None:
        return Outcome(choice)
    operands = make_operands(signature, shape, SEED)
    buffers = Buffers.of(operands, shape)
    plan = dispatcher.plan(problem, device)
    dispatcher.run(plan, buffers.args)
    buffers.c[...] = 0
    start = time.perf_counter()
    dispatcher.run(plan, buffers.args)
    milliseconds = 1000 * (time.perf_counter() - start)
    rows, blocks = _spread(shape.m, CHECKED_ROWS), _spread(-(-shape.n // BLOCK_COLUMNS), CHECKED_BLOCKS)
    columns = np.concatenate([np.arange(b * BLOCK_COLUMNS, min((b + 1) * BLOCK_COLUMNS, shape.n)) for b in blocks])
    expected = expect(_sample(operands, rows, columns), max(choice.k_batch, 1))
    actual = buffers.c[:, rows][:, :, columns]
    error = float(np.abs(decode(actual) - expected.c).max())
    return Outcome(choice, milliseconds, error, expected.excess(actual))


@dataclass(frozen=True, slots=True)
class Buffers:
    """The bytes of one problem and the arguments that point to them; keep it alive while they are used."""

    args: GemmArgsStruct
    c: npt.NDArray[np.generic]
    kept: tuple[npt.NDArray[np.generic], ...]

    @classmethod
    def of(cls, operands: Operands, shape: Shape) -> Buffers:
        """Operands as the kernels read them, without gaps between rows or batches, and a C of zeros."""
        signature, batch = operands.signature, max(shape.batch, 1)
        a, b = store_a(operands), store_b(operands)
        c = encode(np.zeros((batch, shape.m, shape.n)), signature.c)
        scales = [
            np.ascontiguousarray(encode(scale, signature.scale)) if scale is not None and signature.scale else None
            for scale in (operands.a_scale, operands.b_scale)
        ]
        bias = operands.bias.astype(np.float32) if operands.bias is not None else None
        kept = [array for array in (a, b, c, *scales, bias) if array is not None]

        def give(array: npt.NDArray[np.generic]) -> ctypes.c_void_p | None:
            kept.append(np.ascontiguousarray(array))
            return _address(kept[-1])

        args = packed_args(
            signature.layout,
            shape,
            a=_address(a),
            b=_address(b),
            c=_address(c),
            a_scale=_address(scales[0]),
            b_scale=_address(scales[1]),
            bias=_address(bias),
            **fused_args(operands, shape, give),
            a_scale_row_major=1,
        )
        return cls(args, c, tuple(kept))


def _spread(count: int, most: int) -> npt.NDArray[np.int_]:
    """Up to `most` indices below `count`, evenly apart, both ends among them."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(int))


def _sample(operands: Operands, rows: npt.NDArray[np.int_], columns: npt.NDArray[np.int_]) -> Operands:
    """The same problem with only these rows of A and columns of B, whole scale blocks of them."""
    a_scale, b_scale, quant = operands.a_scale, operands.b_scale, operands.signature.quant
    if quant is not Quant.PER_TENSOR:
        of_n = operands.signature.scale_block.n if quant is Quant.BLOCKSCALE else 1
        a_scale = a_scale[:, rows] if a_scale is not None else None
        b_scale = b_scale[:, np.unique(columns // of_n)] if b_scale is not None else None
    bias = operands.bias[columns] if operands.bias is not None else None
    return replace(
        operands, a=operands.a[:, rows], b=operands.b[:, :, columns], a_scale=a_scale, b_scale=b_scale, bias=bias
    )


def _address(array: npt.NDArray[np.generic] | None) -> ctypes.c_void_p | None:
    return ctypes.c_void_p(array.ctypes.data) if array is not None else None
