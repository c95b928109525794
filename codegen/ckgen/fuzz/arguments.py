"""Operands in guarded memory, and the arguments that point to them."""

from __future__ import annotations

from ctypes import c_int64, c_void_p
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ckgen.families.common.of_last import OfLast
from ckgen.families.common.storage import Storage, Values, encode
from ckgen.families.gemm.enums import MAX_D, Quant
from ckgen.families.gemm.reference import Operands, shuffle_mx_scale, store_a, store_b
from ckgen.families.gemm.signature import GemmSignature
from ckgen.fuzz.case import Case
from ckgen.fuzz.layout import Placed, placed
from ckgen.fuzz.memory import Bytes, Matrix, Strides, plain
from ckgen.runtime import GemmArgsStruct

UNREAD, UNWRITTEN = 0xFF, 0xA5
"""What lies beside operands is NaN in every float type."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """What is passed to a run; `inputs` by name."""

    args: GemmArgsStruct
    c: Matrix
    c_storage: Storage
    inputs: dict[str, Matrix]

    def result(self) -> Storage:
        """A copy of C, [batch, M, N]."""
        found: Storage = np.ascontiguousarray(self.c.lines).view(self.c_storage.dtype)
        return found

    def out_of_bounds_writes(self) -> str:
        """What was written that is not C; ends the contents."""
        for name, matrix in (("C", self.c), *self.inputs.items()):
            text = matrix.out_of_bounds_writes()
            if text:
                return f"{name}: {text}"
        return ""


def arguments(signature: GemmSignature, case: Case, operands: Operands) -> Arguments:
    """Operands as the case lays them out; their first batch entry stands for all where it broadcasts."""
    a, b, c, *d_tensors = placed(signature, case)
    inputs = {
        "A": matrix(a, store_a(operands)),
        "B": matrix(b, _last_b.of(operands.b, lambda: store_b(operands), signature)),
    }
    if operands.a1 is not None:
        inputs["A1"] = matrix(a, store_a(operands, operands.a1))
    if operands.b1 is not None:
        inputs["B1"] = matrix(b, store_b(operands, operands.b1))
    for of, of_d in zip(d_tensors, operands.d, strict=True):
        inputs[of.name] = matrix(of, raw(encode(of_d, signature.c)))
    for name, values, broadcasts in (
        ("a_scale", operands.a_scale, case.broadcast_a),
        ("b_scale", operands.b_scale, case.broadcast_b),
    ):
        if values is not None and signature.scale is not None:
            stored = _scales(signature, case, name, values[:1] if broadcasts else values)
            inputs[name] = in_lines(stored, case.gap_scale, UNREAD) if name == "a_scale" else plain(stored, UNREAD)
    if operands.bias is not None:
        inputs["bias"] = plain(operands.bias.astype(np.float32).view(np.uint8), UNREAD)
    out = Matrix(strides_of(c), UNWRITTEN, None)
    args = GemmArgsStruct(
        a=inputs["A"].address,
        b=inputs["B"].address,
        c=out.address,
        a_scale=_address(inputs, "a_scale"),
        b_scale=_address(inputs, "b_scale"),
        bias=_address(inputs, "bias"),
        a1=_address(inputs, "A1"),
        b1=_address(inputs, "B1"),
        d=(c_void_p * MAX_D)(*(_address(inputs, f"D{number}") for number in range(MAX_D))),
        alpha=operands.alpha,
        a_scale_row_major=int(not case.scale_columns),
        mx_scale_shuffled=int(case.scale_shuffled),
        **sizes_of(signature, case),
    )
    return Arguments(args, out, encode(np.zeros(1), signature.c), inputs)


_last_b = OfLast[Bytes]()


def sizes_of(signature: GemmSignature, case: Case) -> dict[str, Any]:
    """The sizes, leading dimensions and batch strides of GemmArgs."""
    a, b, c, *d_tensors = placed(signature, case)
    return {
        "m": case.m, "n": case.n, "k": case.k, "batch": case.entries,
        "lda": a.ld, "ldb": b.ld, "ldc": c.ld,
        "batch_stride_a": a.batch_stride, "batch_stride_b": b.batch_stride, "batch_stride_c": c.batch_stride,
        "ldd": (c_int64 * MAX_D)(*(d.ld for d in d_tensors)),
        "batch_stride_d": (c_int64 * MAX_D)(*(d.batch_stride for d in d_tensors)),
    }  # fmt: skip


def shared(case: Case, operands: Operands) -> Operands:
    """The operands with the first batch entry in place of all where the case broadcasts."""

    def first(values: Values | None, broadcasts: bool) -> Values | None:
        return np.broadcast_to(values[:1], values.shape) if values is not None and broadcasts else values

    a, b = first(operands.a, case.broadcast_a), first(operands.b, case.broadcast_b)
    assert a is not None
    assert b is not None
    a_scale = first(operands.a_scale, case.broadcast_a)
    b_scale = first(operands.b_scale, case.broadcast_b)
    a1, b1 = first(operands.a1, case.broadcast_a), first(operands.b1, case.broadcast_b)
    return replace(operands, a=a, b=b, a_scale=a_scale, b_scale=b_scale, a1=a1, b1=b1)


def matrix(of: Placed, stored: Bytes) -> Matrix:
    """An operand where it is placed."""
    strides = strides_of(of)
    return Matrix(strides, UNREAD, stored[: strides.batch].reshape(strides.batch, strides.lines, strides.length))


def in_lines(stored: Bytes, gap: int, fill: int) -> Matrix:
    """Scales in fp32 whose lines are so many elements apart; of other types `gap` is 0, for no gaps."""
    if not gap:
        return plain(stored, fill)
    flat = stored.reshape(1, -1, stored.shape[-1])
    size = flat.shape[-1]
    return Matrix(Strides(1, flat.shape[1], size, size + gap * np.float32().itemsize, 0), fill, flat)


def strides_of(of: Placed) -> Strides:
    """In bytes."""

    def size(elements: int) -> int:
        return elements * of.dtype.bits // 8

    batch, lines = of.batch if of.batch_stride else 1, of.lines if of.ld else 1
    return Strides(batch, lines, size(of.length), size(of.ld), size(of.batch_stride))


def _scales(signature: GemmSignature, case: Case, name: str, values: Values) -> Bytes:
    assert signature.scale is not None
    stored = encode(values, signature.scale)
    if signature.quant is Quant.MX and case.scale_shuffled:
        stored = shuffle_mx_scale(stored)
    elif signature.quant is Quant.BLOCKSCALE and case.scale_columns and name == "a_scale":
        stored = np.swapaxes(stored, -1, -2)
    return raw(stored)


def raw(stored: Storage) -> Bytes:
    """An array's bytes, in its last dimension."""
    found: Bytes = np.ascontiguousarray(stored).view(np.uint8)
    return found


def _address(inputs: dict[str, Matrix], name: str) -> int | None:
    return inputs[name].address if name in inputs else None
