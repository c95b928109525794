"""Arguments of a GEMM whose matrices lie in memory without gaps."""

from __future__ import annotations

from typing import Any

from ckgen.families.gemm.signature import Layout
from ckgen.model.tuned_row import Shape
from ckgen.runtime.abi import GemmArgsStruct


def packed_args(layout: Layout, shape: Shape, **others: Any) -> GemmArgsStruct:
    """Sizes and strides without gaps between rows or batches, in elements; `others` are the struct's other fields."""
    a_has_rows_of_k = layout in (Layout.RCR, Layout.RRR)
    b_has_rows_of_n = layout in (Layout.RRR, Layout.CRR)
    return GemmArgsStruct(
        m=shape.m,
        n=shape.n,
        k=shape.k,
        batch=max(shape.batch, 1),
        lda=shape.k if a_has_rows_of_k else shape.m,
        ldb=shape.n if b_has_rows_of_n else shape.k,
        ldc=shape.n,
        batch_stride_a=shape.m * shape.k,
        batch_stride_b=shape.n * shape.k,
        batch_stride_c=shape.m * shape.n,
        **others,
    )
