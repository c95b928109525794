"""Arrays as kernels read them: quantised, packed, shuffled. NumPy and ml_dtypes; every function gives a new array."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ckgen.families.common.storage import Values, decode, encode
from ckgen.families.gemm import reference
from ckgen.families.gemm.call_scales import ceil_div
from ckgen.families.gemm.enums import MX_K, USUAL_SCALE_BLOCK, Quant
from ckgen.model.dtype import DType
from ckgen.model.errors import UsageError
from ckgen.tensors.dtypes import dtype_said

Array = npt.NDArray[Any]
_PACKED = {"float4_e2m1fn", "int4", "uint4"}
_ALIGNED_ROWS, _ALIGNED_BYTES = 16, 32


def quantize(
    values: Array, dtype: str, scheme: str = "rowwise", block: tuple[int, int] = (1, USUAL_SCALE_BLOCK.k)
) -> tuple[Array, Array]:
    """Codes and scales of values [..., rows, K]: each code is the nearest, to even, of value / scale.

    dtype: int8, fp8_fnuz, fp8_ocp, bf8_fnuz, bf8_ocp or fp4, which comes two to a byte, or NumPy's name of it.
    scheme: per_tensor, scales fp32 [1]; rowwise, [..., rows]; blockscale, [..., ceil(rows/n), ceil(K/k)] of `block`
    (n, k), 1 x 128 for A and 128 x 128 for B; mx, e8m0 [..., rows, ceil(K/32)], OCP's powers of two. A scale is the
    largest magnitude over the type's largest value, and 1 where all are zero.
    """
    kind, quant = _dtype(dtype), scheme_of(scheme)
    exact = np.asarray(values, np.float64)
    if exact.ndim < 2 or not np.isfinite(exact).all():
        raise UsageError("values are finite, [..., rows, K]")
    *many, rows, k = exact.shape
    n, width = {
        Quant.PER_TENSOR: (rows, k), Quant.ROWWISE: (1, k), Quant.MX: (1, MX_K), Quant.BLOCKSCALE: block,
    }[quant]  # fmt: skip
    more = ((0, 0),) * len(many) + ((0, -rows % n), (0, -k % width))
    tiles = np.pad(exact, more).reshape(*many, ceil_div(rows, n), n, ceil_div(k, width), width)
    axes = (-3, -1) if quant is not Quant.PER_TENSOR else tuple(range(tiles.ndim))
    scales = _scales(np.abs(tiles).max(axis=axes, keepdims=True), kind, quant)
    codes = (tiles / scales).reshape(*many, *(n * ceil_div(rows, n), width * ceil_div(k, width)))[..., :rows, :k]
    stored = _stored(codes, kind)
    shape = {Quant.PER_TENSOR: (1,), Quant.ROWWISE: (*many, rows)}.get(quant, (*many, tiles.shape[-4], tiles.shape[-2]))
    type_of_scale = DType.E8M0 if quant is Quant.MX else DType.FP32
    return (pack_4bit(stored) if kind.bits == 4 else stored), encode(scales.reshape(shape), type_of_scale)


def pack_4bit(values: Array) -> Array:
    """ml_dtypes' int4 or float4_e2m1fn, an element to a byte, as uint8 with two along the last dimension, low first."""
    if values.dtype.name not in _PACKED or values.shape[-1] % 2:
        raise UsageError(
            f"{values.dtype.name} {values.shape}: pack_4bit takes int4 or float4_e2m1fn, an even number of K"
        )
    raw = np.ascontiguousarray(values).view(np.uint8)
    return reference.two_to_a_byte(raw)


def preshuffle_b(weights: Array) -> Array:
    """Weights [..., N, K] in the order of ckgen/preshuffle.hpp, AITER's shuffle_weight of (16, 16); the same shape."""
    return reference.preshuffle(shuffled_rows(weights)).reshape(-1).view(weights.dtype).reshape(weights.shape)


def shuffled_rows(weights: Array) -> npt.NDArray[np.uint8]:
    """The bytes of weights [..., N, K], [matrices, N, bytes of K]; UsageError where they have no such order."""
    if weights.ndim < 2 or weights.shape[-2] % _ALIGNED_ROWS or weights.shape[-1] * weights.itemsize % _ALIGNED_BYTES:
        raise UsageError(f"{weights.shape} of {weights.dtype}: N is a multiple of 16 and K one of 32 bytes")
    return (
        np.ascontiguousarray(weights)
        .view(np.uint8)
        .reshape(-1, weights.shape[-2], weights.shape[-1] * weights.itemsize)
    )


def shuffle_mx_scale(scales: Array) -> Array:
    """e8m0 [rows, groups] in the order of ckgen/preshuffle.hpp, AITER's e8m0_shuffle: flat, padded with zeros."""
    if scales.ndim != 2 or scales.itemsize != 1:
        raise UsageError(f"{scales.shape} of {scales.dtype}: scales are e8m0 [rows, groups]")
    return reference.shuffle_mx_scale(scales[None])


def _dtype(name: str) -> DType:
    found = dtype_said(name)
    if found is None or found.bits > 8 or found is DType.E8M0:
        raise UsageError(f"dtype is {name!r}: values become int8, fp8_fnuz, fp8_ocp, bf8_fnuz, bf8_ocp or fp4")
    return found


def scheme_of(name: str) -> Quant:
    """UsageError for no scheme."""
    known = [str(one) for one in Quant if one is not Quant.NONE]
    if name not in known:
        raise UsageError(f"scheme is {name!r}, and schemes are {', '.join(known)}")
    return Quant(name)


def _largest(dtype: DType) -> float:
    if dtype is DType.INT8:
        return 127.0
    kind = encode(np.zeros(1), dtype).dtype
    every = decode(np.arange(2**dtype.bits, dtype=np.uint8).view(kind))
    return float(every[np.isfinite(every)].max())


def _scales(largest: Values, dtype: DType, quant: Quant) -> Values:
    most = _largest(dtype)
    if quant is Quant.MX:
        with np.errstate(divide="ignore"):
            exponent = np.floor(np.log2(largest)) - np.floor(np.log2(most))
        powers: Values = np.exp2(np.clip(exponent, -127, 127))
        return powers
    scales: Values = np.where(largest == 0, 1.0, largest / most).astype(np.float32).astype(np.float64)
    return scales


def _stored(codes: Values, dtype: DType) -> Array:
    most = _largest(dtype)
    if dtype is DType.INT8:
        return np.clip(np.rint(codes), -most, most).astype(np.int8)
    return encode(np.clip(codes, -most, most), dtype)
