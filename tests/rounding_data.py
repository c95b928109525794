"""Data whose sums round, so that their order shows, and one row of it among others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from ckgen.families.common.storage import Values, decode, encode
from ckgen.families.gemm.enums import Quant
from ckgen.families.gemm.reference import Operands, of_rows
from ckgen.families.gemm.reference_data import make_operands
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.dtype import DType
from ckgen.model.tuned_row import Shape

MS = (1, 2, 17, 33, 128, 257, 1024)
_WIDE = 6
"""Exponents of elements are up to this many apart on either side, where their type has them."""


def rounding_operands(signature: GemmSignature, shape: Shape, seed: int = 1) -> Operands:
    """Operands with full significands and far exponents, of mixed signs, and scales of both.

    The products of each 32 of K add up to 0: what comes out is what the additions rounded, and shows their order.
    """
    drawn, random = make_operands(signature, shape, seed), np.random.default_rng(seed)
    own = {
        name: cancelling(wide(random, value, dtype), axis)
        for name, dtype, axis in (
            ("a", signature.a, -1),
            ("b", signature.b, -2),
            ("a1", signature.a, -1),
            ("b1", signature.b, -2),
        )
        if (value := getattr(drawn, name)) is not None
    }
    scales = {}
    for name in ("a_scale", "b_scale"):
        value = getattr(drawn, name)
        if value is not None and signature.scale is not None:
            powers = 2.0 ** random.integers(-_WIDE, _WIDE, value.shape)
            factors = 1.0 if signature.quant is Quant.MX else random.uniform(1, 2, value.shape)
            scales[name] = decode(encode(powers * factors, signature.scale))
    return replace(drawn, **own, **scales)


def wide(random: np.random.Generator, like: Values, dtype: DType, power: int = _WIDE) -> Values:
    """As many values of mixed signs, whose exponents are up to `power` apart on either side; integers as they are."""
    if dtype in (DType.INT8, DType.INT4):
        return like
    values = random.normal(size=like.shape) * 2.0 ** random.integers(-power, power, like.shape)
    if dtype is DType.FP4:
        values = random.normal(size=like.shape) * 2.0
    return decode(encode(values, dtype))


def cancelling(values: Values, axis: int) -> Values:
    """Of each 32 along K, of A (axis -1) or B (-2), the last 16 as the first, in B negated."""
    blocks = np.moveaxis(values, axis, -1).copy()
    parts = blocks.reshape(*blocks.shape[:-1], -1, 32)
    parts[..., 16:] = parts[..., :16] * (1 if axis == -1 else -1)
    return np.moveaxis(parts.reshape(blocks.shape), -1, axis)


def rows_among_others(m: int, most: int) -> Iterator[tuple[int, np.ndarray]]:
    """The place of row 0 among m of `most` rows, first, in the middle and last, and which rows these are."""
    for place in sorted({0, m // 2, m - 1}):
        others = 1 + (np.arange(m - 1) * 7) % (most - 1)
        yield place, np.insert(others, place, 0)


def bytes_of_row(
    operands: Operands, run: Callable[[Operands, int], np.ndarray], ms: Sequence[int] = MS
) -> dict[tuple[int, int], bytes]:
    """Row 0 of C, of every batch, by M and its place; `run` gives C of operands of so many rows."""
    most = operands.a.shape[1]
    return {
        (m, place): np.ascontiguousarray(run(of_rows(operands, rows), m)[:, place]).tobytes()
        for m in ms
        for place, rows in rows_among_others(m, most)
    }
