"""What `storing` made, as values again: unpacked, in rows, times its scales. Every function gives a new array."""

from __future__ import annotations

import numpy as np

from ckgen.families.common.storage import decode, encode
from ckgen.families.gemm import reference
from ckgen.families.gemm.enums import MX_K, USUAL_SCALE_BLOCK, Quant
from ckgen.families.gemm.storing import Array, scheme_of, shuffled_rows
from ckgen.model.dtype import DType
from ckgen.model.errors import UsageError
from ckgen.tensors.dtypes import dtype_said


def unpack_4bit(packed: Array, dtype: str = "fp4") -> Array:
    """uint8 [..., K/2] as ml_dtypes' float4_e2m1fn or int4 [..., K], an element to a byte: the inverse of pack_4bit."""
    kind = dtype_said(dtype) if dtype != "int4" else DType.INT4
    if kind not in (DType.FP4, DType.INT4) or packed.dtype != np.uint8:
        raise UsageError(f"{packed.dtype} as {dtype!r}: unpack_4bit takes uint8, and dtype is fp4 or int4")
    halves = np.stack([packed & 0xF, packed >> 4], -1).reshape(*packed.shape[:-1], -1)
    if kind is DType.INT4:
        return encode(((halves.astype(np.int8) ^ 8) - 8).astype(np.float64), kind)
    return halves.view(encode(np.zeros(1), kind).dtype)


def dequantize(
    codes: Array, scales: Array, scheme: str = "rowwise", block: tuple[int, int] = (1, USUAL_SCALE_BLOCK.k)
) -> Array:
    """fp32 [..., rows, K] of what `quantize` gives for the same scheme and block; codes of uint8 are fp4."""
    quant = scheme_of(scheme)
    values = decode(unpack_4bit(codes) if codes.dtype == np.uint8 else codes)
    factors = decode(scales)
    rows, k = values.shape[-2:]
    n, width = {Quant.PER_TENSOR: (rows, k), Quant.ROWWISE: (1, k), Quant.MX: (1, MX_K)}.get(quant, block)
    wanted = {Quant.PER_TENSOR: (1,), Quant.ROWWISE: values.shape[:-1]}.get(
        quant, (*values.shape[:-2], -(-rows // n), -(-k // width))
    )
    if factors.shape != wanted:
        raise UsageError(f"scales have shape {factors.shape}, and {wanted} is asked for by {scheme} of {values.shape}")
    tiles = factors[..., None] if quant in (Quant.PER_TENSOR, Quant.ROWWISE) else factors
    wide = tiles.repeat(n, -2)[..., :rows, :].repeat(width, -1)[..., :k] if quant is not Quant.PER_TENSOR else tiles
    found: Array = (values * wide).astype(np.float32)
    return found


def unpreshuffle_b(weights: Array) -> Array:
    """Weights [..., N, K] in rows again: the inverse of preshuffle_b."""
    raw = shuffled_rows(weights)
    places = reference.preshuffle(np.arange(raw.shape[-2] * raw.shape[-1]).reshape(1, *raw.shape[-2:])).reshape(-1)
    rows = np.empty((len(raw), places.size), np.uint8)
    rows[:, places] = raw.reshape(len(raw), -1)
    return rows.reshape(-1).view(weights.dtype).reshape(weights.shape)


def unshuffle_mx_scale(shuffled: Array, rows: int, groups: int) -> Array:
    """e8m0 [rows, groups] of what shuffle_mx_scale gives: its inverse."""
    places: Array = reference.shuffle_mx_scale(np.arange(1, rows * groups + 1).reshape(1, rows, groups))
    if shuffled.shape != places.shape:
        raise UsageError(f"{shuffled.shape} scales, and {places.shape} of {rows} rows and {groups} groups are shuffled")
    found = np.empty(rows * groups, shuffled.dtype)
    found[places[places > 0] - 1] = shuffled[places > 0]
    return found.reshape(rows, groups)
