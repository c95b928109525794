"""Exact values of one attention problem, sequence by sequence, whatever way they lie in memory."""

from __future__ import annotations

from dataclasses import dataclass, replace

import ml_dtypes
import numpy as np

from ckgen.families.common.storage import Values, decode, encode
from ckgen.families.fmha.dropout import Dropout
from ckgen.families.fmha.enums import FmhaBias, FmhaDropout, FmhaQuant
from ckgen.families.fmha.signature import FLOAT8, FmhaSignature
from ckgen.model.dtype import DType
from ckgen.model.fmha_shape import FmhaShape

SCALE_ROWS = 128
_CODES = {
    DType.FP8_FNUZ: ml_dtypes.float8_e4m3fnuz,
    DType.FP8_OCP: ml_dtypes.float8_e4m3fn,
    DType.BF8_FNUZ: ml_dtypes.float8_e5m2fnuz,
    DType.BF8_OCP: ml_dtypes.float8_e5m2,
}


@dataclass(frozen=True, slots=True)
class Lengths:
    """Rows of Q and columns of K that count, per sequence; none above the shape's."""

    q: tuple[int, ...]
    k: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Descales:
    """Per tensor [1]; of blocks [batch, heads, ceil(rows / 128)]; of pages [pages, heads_k], and then Q's is [1].

    Q has none where its type has more than 8 bits.
    """

    q: Values | None = None
    k: Values | None = None
    v: Values | None = None


@dataclass(frozen=True, slots=True)
class FmhaOperands:
    """Q [batch, seqlen_q, heads_q, hdim_q], K and V [batch, seqlen_k, heads_k, hdim_q and hdim_v].

    Rows behind a sequence's length do not count. bias is [batch, heads_q, seqlen_q, seqlen_k], or slopes [batch,
    heads_q] of the distance to the diagonal that ends at the last key, under any mask, with 1 for batch or heads where
    one serves all; sink is [heads_q]. pages: page numbers of each sequence.
    is_exact: the data are those of `exact_operands`, whose scores are integers of ln 2.
    """

    signature: FmhaSignature
    shape: FmhaShape
    lengths: Lengths
    q: Values
    k: Values
    v: Values
    scale: float
    descales: Descales = Descales()
    bias: Values | None = None
    sink: Values | None = None
    softcap: float = 0.0
    dropout: Dropout | None = None
    pages: tuple[tuple[int, ...], ...] = ()
    is_exact: bool = False


def make_operands(
    signature: FmhaSignature, shape: FmhaShape, seed: int, lengths: Lengths | None = None
) -> FmhaOperands:
    """Mixed-sign operands that the signature's types hold exactly, with descales near one.

    Lengths are random where sequences may have their own and none are given, and one sequence has the shape's; pages
    are a random choice of the cache's, enough for each sequence. The shape gets the total_q of the lengths.
    """
    random, traits = np.random.default_rng(seed), signature.traits
    found = lengths or _lengths(signature, shape, random)
    if traits.varlen:
        shape = replace(shape, total_q=sum(found.q))
    batch, queries, keys = shape.batch, shape.seqlen_q, shape.seqlen_k

    def values(dtype: DType, *sizes: int) -> Values:
        if dtype in _CODES:
            every = decode(np.arange(256, dtype=np.uint8).view(_CODES[dtype]))
            return random.choice(every[np.abs(every) <= 2], sizes)
        return decode(encode(random.uniform(-2.0, 2.0, sizes), dtype))

    def of_one_or_all(*sizes: int) -> tuple[int, ...]:
        batch, heads, *rest = sizes
        return (random.choice((1, batch)), random.choice((1, heads)), *rest)

    bias: Values | None = None
    if traits.bias is FmhaBias.ELEMENTWISE:
        bias = values(signature.a, *of_one_or_all(batch, shape.heads_q, queries, keys))
    elif traits.bias is FmhaBias.ALIBI:
        bias = _fp32(random.uniform(0.01, 0.3, (random.choice((1, batch)), shape.heads_q)))
    return FmhaOperands(
        signature,
        shape,
        found,
        values(signature.a, batch, queries, shape.heads_q, shape.hdim_q),
        values(signature.b, batch, keys, shape.heads_k, shape.hdim_q),
        values(signature.b, batch, keys, shape.heads_k, shape.hdim_v),
        float(np.float32(1 / np.sqrt(max(shape.hdim_q, 1)))),
        _descales(signature, shape, random),
        bias,
        _fp32(random.uniform(-2.0, 2.0, shape.heads_q)) if traits.sink else None,
        float(np.float32(random.uniform(1.0, 4.0))) if traits.softcap else 0.0,
        _dropout(signature, shape, random),
        _pages(shape, found, random) if traits.is_paged else (),
    )


def _fp32(values: Values) -> Values:
    return values.astype(np.float32).astype(np.float64)


def _lengths(signature: FmhaSignature, shape: FmhaShape, random: np.random.Generator) -> Lengths:
    longest = random.integers(max(shape.batch, 1))

    def drawn(most: int) -> tuple[int, ...]:
        some = random.integers(0, most + 1, shape.batch)
        some[random.random(shape.batch) < 0.15] = 0
        some[longest:][:1] = most
        return tuple(int(one) for one in some)

    varlen = signature.traits.varlen
    of_q = drawn(shape.seqlen_q) if varlen else (shape.seqlen_q,) * shape.batch
    own_k = varlen or signature.traits.is_paged
    return Lengths(of_q, drawn(shape.seqlen_k) if own_k else (shape.seqlen_k,) * shape.batch)


def _descales(signature: FmhaSignature, shape: FmhaShape, random: np.random.Generator) -> Descales:
    def scales(*sizes: int) -> Values:
        return _fp32(random.uniform(0.5, 1.5, sizes))

    has_q = signature.a in FLOAT8
    match signature.traits.quant:
        case FmhaQuant.NONE:
            return Descales()
        case FmhaQuant.PER_TENSOR:
            return Descales(scales(1) if has_q else None, scales(1), scales(1))
        case FmhaQuant.BLOCKSCALE:
            of_k = (shape.batch, shape.heads_k, -(-shape.seqlen_k // SCALE_ROWS))
            of_q = (shape.batch, shape.heads_q, -(-shape.seqlen_q // SCALE_ROWS))
            return Descales(scales(*of_q) if has_q else None, scales(*of_k), scales(*of_k))
    of_pages = (shape.pages, shape.heads_k)
    return Descales(scales(1) if has_q else None, scales(*of_pages), scales(*of_pages))


def _dropout(signature: FmhaSignature, shape: FmhaShape, random: np.random.Generator) -> Dropout | None:
    kind = signature.traits.dropout
    if kind is FmhaDropout.NONE:
        return None
    p_drop = float(np.float32(random.uniform(0.05, 0.6)))
    if kind is FmhaDropout.PHILOX:
        seed, offset = (int(word) for word in random.integers(0, 2**64, 2, np.uint64))
        return Dropout(p_drop, seed, offset)
    sizes = (shape.batch, shape.heads_q, shape.seqlen_q, shape.seqlen_k)
    return Dropout(p_drop, rand_val=random.integers(0, 256, sizes, np.uint8))


def _pages(shape: FmhaShape, lengths: Lengths, random: np.random.Generator) -> tuple[tuple[int, ...], ...]:
    counts = [-(-length // shape.page_size) for length in lengths.k]
    if sum(counts) > shape.pages:
        raise ValueError(f"{sum(counts)} pages are needed, of {shape.pages}")
    order = [int(page) for page in random.permutation(shape.pages)]
    starts = np.cumsum([0, *counts])
    return tuple(tuple(order[first : first + count]) for first, count in zip(starts, counts, strict=False))
