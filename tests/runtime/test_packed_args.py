"""Strides of matrices without gaps, against NumPy's own."""

from __future__ import annotations

import numpy as np
import pytest

from ckgen.families.gemm.enums import Layout
from ckgen.model.tuned_row import Shape
from ckgen.runtime.packed import packed_args

M, N, K, BATCH = 3, 5, 7, 2


@pytest.mark.parametrize("layout", Layout)
def test_strides_are_those_of_contiguous_arrays(layout: Layout) -> None:
    args = packed_args(layout, Shape(BATCH, M, N, K), a_scale_row_major=1)
    sizes = {"a": (M, K), "b": (K, N), "c": (M, N)}
    for letter, (name, (rows, columns)) in zip(layout.value, sizes.items(), strict=True):
        stored = np.empty((BATCH, rows, columns) if letter == "r" else (BATCH, columns, rows), np.int8)
        assert getattr(args, f"ld{name}") == stored.strides[1]
        assert getattr(args, f"batch_stride_{name}") == stored.strides[0]
    assert (args.m, args.n, args.k, args.batch, args.a_scale_row_major) == (M, N, K, BATCH, 1)


def test_a_shape_without_batch_has_one_matrix() -> None:
    assert packed_args(Layout.RCR, Shape(0, M, N, K)).batch == 1
