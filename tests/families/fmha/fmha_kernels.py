"""Attention in fp32 over tiles of keys, as kernels compute it; `Faults` are mistakes that a reference must see."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ckgen.families.elements import decode, encode
from ckgen.families.fmha.enums import FmhaBias, FmhaCorner, FmhaQuant
from ckgen.families.fmha.operands import FmhaOperands
from ckgen.model.dtype import DType

f32 = np.float32


@dataclass(frozen=True)
class Faults:
    """What a kernel does wrong; nothing where all stand as they are."""

    right: int = 0  # columns too many at the right of a window
    left: int = 0
    sink_tokens: int = 0
    kv_head: int = 0
    without: str = ""  # of scale, softcap, sink, q_descale, k_descale, v_descale, bias, dropout, rescaling, last
    of_batch_0: str = ""  # of bias and lengths: those of sequence 0 are taken for all


def run(operands: FmhaOperands, tile: int = 16, truncates: bool = False, faults: Faults = Faults()):
    """O and lse as `reference.Attention` has them, zeros behind a sequence's length."""
    shape = operands.shape
    o = np.zeros((shape.batch, shape.seqlen_q, shape.heads_q, shape.hdim_v), f32)
    lse = np.zeros((shape.batch, shape.heads_q, shape.seqlen_q), f32)
    for b in range(shape.batch):
        for h in range(shape.heads_q):
            queries = operands.lengths.q[b]
            o[b, :queries, h], lse[b, h, :queries] = _head(operands, b, h, tile, truncates, faults)
    return o, lse


def run_split(operands: FmhaOperands, tile: int, splits: int, random: np.random.Generator):
    """The same by workgroups that each take some tiles, in any order; lse joins their results in fp32."""
    shape = operands.shape
    o = np.zeros((shape.batch, shape.seqlen_q, shape.heads_q, shape.hdim_v), f32)
    lse = np.full((shape.batch, shape.heads_q, shape.seqlen_q), -np.inf, f32)
    for b, h in np.ndindex(shape.batch, shape.heads_q):
        queries, keys = operands.lengths.q[b], operands.lengths.k[b]
        firsts = random.permutation(np.arange(0, keys, tile))
        parts = [_head(operands, b, h, tile, False, Faults(), own, with_sink=at == 0, rounds=False)
                 for at, own in enumerate(np.array_split(firsts, splits))]  # fmt: skip
        of_parts = np.array([part[1] for part in parts], f32)
        with np.errstate(all="ignore"):
            top = of_parts.max(axis=0)
            raised = np.exp(of_parts - np.where(np.isinf(top), f32(0), top))
            total = raised.sum(axis=0, dtype=f32)
            joined = sum(weight[:, None] * part[0] for weight, part in zip(raised / total, parts, strict=True))
            joined = np.where(total[:, None] > 0, joined, f32(0))
            lse[b, h, :queries] = np.where(total > 0, top + np.log(total), f32(-np.inf))
        o[b, :queries, h] = _rounded(joined.astype(f32), operands.signature.c, False)
    return o, lse


def _head(
    operands: FmhaOperands,
    b: int,
    h: int,
    tile: int,
    truncates: bool,
    faults: Faults,
    firsts=None,
    with_sink=True,
    rounds=True,
):
    """`firsts`: where the tiles begin that are taken, in that order; all of them unless said."""
    shape, traits = operands.shape, operands.signature.traits
    queries, keys = operands.lengths.q[b], operands.lengths.k[0 if faults.of_batch_0 == "lengths" else b]
    g = (h // (shape.heads_q // shape.heads_k) + faults.kv_head) % shape.heads_k
    q, k, v = (x.astype(f32) for x in (operands.q[b, :queries, h], operands.k[b, :keys, g], operands.v[b, :keys, g]))
    m, total = np.full(queries, -np.inf, f32), np.zeros(queries, f32)
    sum_o = np.zeros((queries, shape.hdim_v), f32)
    if traits.sink and with_sink and faults.without != "sink":
        m[:], total[:] = f32(operands.sink[h]), 1
    end = keys - (1 if faults.without == "last" else 0)
    for first in range(0, end, tile) if firsts is None else firsts.tolist():
        columns = range(first, min(first + tile, end))
        s = _scores(operands, b, h, g, q, k, columns, faults)
        s = np.where(_visible(operands, queries, keys, columns, faults), s, f32(-np.inf))
        new = np.maximum(m, s.max(axis=1))
        base = np.where(np.isinf(new), f32(0), new)
        p, shrunk = np.exp(s - base[:, None]), np.exp(m - base)
        if faults.without == "rescaling":
            shrunk[:] = 1
        total = total * shrunk + p.sum(axis=1, dtype=f32)
        if operands.dropout is not None and faults.without != "dropout":
            kept = operands.dropout.keeps(b, h, shape.heads_q, (queries, keys))[:, columns]
            p = p * kept * f32(operands.dropout.factor)
        p = _rounded(p, operands.signature.a, truncates)
        scale = f32(1) if faults.without == "v_descale" else _descale(operands, operands.descales.v, b, g, columns)
        sum_o = sum_o * shrunk[:, None] + p @ (v[columns] * scale)
        m = new
    with np.errstate(divide="ignore", invalid="ignore"):
        o = np.where(total[:, None] > 0, sum_o / total[:, None], f32(0))
        o = _rounded(o, operands.signature.c, truncates) if rounds else o
        return o, np.where(total > 0, m + np.log(total), f32(-np.inf))


def _scores(operands: FmhaOperands, b: int, h: int, g: int, q, k, columns: range, faults: Faults):
    s = q @ k[columns].T
    if faults.without != "scale":
        s = s * f32(operands.scale)
    if faults.without != "q_descale" and operands.descales.q is not None:
        s = s * _descale(operands, operands.descales.q, b, h, range(len(q)), of_q=True)
    if faults.without != "k_descale":
        s = s * _descale(operands, operands.descales.k, b, g, columns).T
    if operands.softcap and faults.without != "softcap":
        s = f32(operands.softcap) * np.tanh(s / f32(operands.softcap))
    if operands.bias is not None and faults.without != "bias":
        of_batch = 0 if faults.of_batch_0 == "bias" else b
        bias = operands.bias[of_batch % operands.bias.shape[0], h % operands.bias.shape[1]].astype(f32)
        if operands.signature.traits.bias is FmhaBias.ALIBI:
            i, j = np.ogrid[: len(q), columns.start : columns.stop]
            s = s - bias * np.abs(i + len(k) - len(q) - j).astype(f32)
        else:
            s = s + bias[: len(q), columns]
    return s


def _descale(operands: FmhaOperands, scales, b: int, head: int, rows: range, of_q: bool = False):
    quant = operands.signature.traits.quant
    if scales is None:
        return f32(1)
    if quant is FmhaQuant.PER_TENSOR or (of_q and quant is FmhaQuant.KV_BLOCKSCALE):
        return f32(scales[0])
    if quant is FmhaQuant.BLOCKSCALE:
        return np.array([scales[b, head, row // 128] for row in rows], f32).reshape(-1, 1)
    size = operands.shape.page_size
    return np.array([scales[operands.pages[b][row // size], head] for row in rows], f32).reshape(-1, 1)


def _visible(operands: FmhaOperands, queries: int, keys: int, columns: range, faults: Faults):
    shape = operands.shape
    i, j = np.ogrid[:queries, columns.start : columns.stop]
    if not operands.signature.traits.masked:
        return np.broadcast_to(True, (queries, len(columns)))
    shift = keys - queries if shape.corner is FmhaCorner.BOTTOM_RIGHT else 0
    below = j <= i + shift + shape.window_right + faults.right
    above = j >= i + shift - shape.window_left - faults.left
    right = shape.window_right < 0 or below
    return right & ((shape.window_left < 0) | above | (j < shape.sink_tokens + faults.sink_tokens))


def _rounded(x, dtype: DType, truncates: bool):
    if not truncates or dtype.bits != 16:
        return decode(encode(x.astype(np.float64), dtype)).astype(f32)
    nearest = decode(encode(x.astype(np.float64), dtype))
    kind = encode(np.zeros(1), dtype).dtype
    lower = np.nextafter(nearest.astype(kind), kind.type(0)) if dtype is DType.FP16 else None
    if lower is None:
        return (x.astype(f32).view(np.uint32) & 0xFFFF0000).view(f32)
    return np.where(np.abs(nearest) > np.abs(x), lower.astype(f32), nearest.astype(f32))
