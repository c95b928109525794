"""Runs one problem through the loaded library and checks the result against the definition."""

from __future__ import annotations

import ctypes
import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ckgen.families.common.comparison import Expected, compare
from ckgen.families.common.sensitivity import Sensitivity
from ckgen.families.common.storage import encode
from ckgen.families.gemm.reference import Operands, expect, expect_of_integers, store_a, store_b
from ckgen.families.gemm.reference_data import make_integers, make_operands
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.tuned_row import Shape
from ckgen.runtime import Choice, Device, Dispatcher, GemmArgsStruct, RuntimeLibrary
from ckgen.runtime.packed import fused_args, packed_args

SEED = 1


@dataclass(frozen=True, slots=True)
class Outcome:
    """A selection, and if something was selected its time, its error (the largest, and in units of its bound) and how
    small an error would have been seen."""

    choice: Choice
    milliseconds: float | None = None
    max_error: float | None = None
    excess: float | None = None
    sensitivity: Sensitivity | None = None

    @property
    def ok(self) -> bool:
        """Whether every element is within its bound; a refusal is no failure."""
        return self.excess is None or self.excess <= 1


def run_checked(
    library: RuntimeLibrary, dispatcher: Dispatcher, device: Device, signature: GemmSignature, shape: Shape
) -> Outcome:
    """Selects, runs and compares every element of C."""
    problem = library.problem(
        signature.canonical(), shape.m, shape.n, shape.k, batch=shape.batch if signature.batched else 1
    )
    choice = dispatcher.select(problem, device)
    if choice.instance is None:
        return Outcome(choice)
    operands = operands_of(signature, shape, choice.k_batch)
    buffers = Buffers.of(operands, shape)
    plan = dispatcher.plan(problem, device)
    dispatcher.run(plan, buffers.args)
    buffers.c.view(np.uint8)[...] = 0xFF
    start = time.perf_counter()
    dispatcher.run(plan, buffers.args)
    milliseconds = 1000 * (time.perf_counter() - start)
    expected = expected_of(operands, choice.k_batch)
    found = compare(expected, buffers.c)
    return Outcome(choice, milliseconds, found.max_abs_err, found.excess, expected.sensitivity)


def operands_of(signature: GemmSignature, shape: Shape, k_batch: int) -> Operands:
    """Data of which one result is right, or one rounding of it; integers where C may be added up in parts."""
    return (make_integers if k_batch > 1 else make_operands)(signature, shape, SEED)


def expected_of(operands: Operands, k_batch: int) -> Expected:
    """The exact result and its bound: 0 where C is added up in parts, whose every sum its type holds."""
    return (expect_of_integers if k_batch > 1 else expect)(operands)


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


def _address(array: npt.NDArray[np.generic] | None) -> ctypes.c_void_p | None:
    return ctypes.c_void_p(array.ctypes.data) if array is not None else None
