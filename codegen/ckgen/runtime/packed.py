"""Arguments of a GEMM whose matrices lie in memory without gaps."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from ckgen.families.common.storage import Storage, encode
from ckgen.families.gemm.enums import MAX_D, Layout
from ckgen.families.gemm.reference import Operands, store_a, store_b
from ckgen.model.tuned_row import Shape
from ckgen.runtime.structs import GemmArgsStruct


def packed_args(layout: Layout, shape: Shape, **others: Any) -> GemmArgsStruct:
    """Sizes and strides without gaps between rows or batches, in elements; `others` are the struct's other fields."""
    return GemmArgsStruct(
        m=shape.m,
        n=shape.n,
        k=shape.k,
        batch=max(shape.batch, 1),
        lda=shape.k if layout.a_is_row_major else shape.m,
        ldb=shape.n if layout.b_is_row_major else shape.k,
        ldc=shape.n,
        batch_stride_a=shape.m * shape.k,
        batch_stride_b=shape.n * shape.k,
        batch_stride_c=shape.m * shape.n,
        **others,
    )


def fused_args(operands: Operands, shape: Shape, give: Callable[[Storage], Any]) -> dict[str, Any]:
    """D tensors, alpha and the second tensors of A and B, as `give` places them.

    A D of one row or one batch entry has a stride of 0.
    """
    row_strides = [shape.n if d.shape[1] == shape.m else 0 for d in operands.d]
    batch_strides = [shape.m * shape.n if d.shape[0] > 1 else 0 for d in operands.d]
    places = [give(encode(d, operands.signature.c)) for d in operands.d]
    return {
        "d": (ctypes.c_void_p * MAX_D)(*places),
        "ldd": (ctypes.c_int64 * MAX_D)(*row_strides),
        "batch_stride_d": (ctypes.c_int64 * MAX_D)(*batch_strides),
        "alpha": operands.alpha,
        "a1": give(store_a(operands, operands.a1)) if operands.a1 is not None else None,
        "b1": give(store_b(operands, operands.b1)) if operands.b1 is not None else None,
    }
