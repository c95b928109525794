"""Paged attention of decoding: every sequence's queries against its own pages of a key and value cache.

Host side: asm_pa.cu; the caches' layouts: aiter/paged_attn.py. With x = 16 bytes / element size, keys are
[page, kv head, head size / x, token, x], values [page, kv head, token / x, head size, x], scales, one per token,
[page, kv head, token]. Kernels of several queries per sequence (mtp, qlen) get the queries' starts; msk1: query i of
n sees all but the last n - 1 - i tokens. The quantised kernels round queries and probabilities to the cache's type too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckgen_emulator.production.model import Kind, Launch, Output
from ckgen_emulator.production.numbers import BF16, Float, normal, wide
from ckgen_emulator.production.quantized import (
    DEVIATIONS,
    FP16,
    INT8,
    Quantized,
    deviation,
    fp8,
    quantized,
    to_float16,
)  # fmt: skip
from ckgen_emulator.production.slots import F32, U32, Arguments, Pointer
from ckgen_emulator.production.wheel import KernelFile, Wheel

_THREADS = 256
_HEAD = 128
_BLOCK = 256
"""Tokens that a workgroup takes at once."""
_VECTOR = 16  # bytes of the cache's innermost dimension
_NAME = re.compile(
    r"pa_(?P<q>bf16|fp16)_(?P<kv>noquant|pertokenFp8|pertokenInt8)_gqa(?P<gqa>\d+)_\dtg_4w"
    r"(?P<mtp>_mtp)?(?:_qlen(?P<qlen>\d))?(?:_msk(?P<mask>[01]))?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PaArguments(Arguments):
    """Strides in bytes: of a query row, a page, a head of a page. `scale`: 1 / sqrt(head size), for base 2."""

    out: Pointer = None
    q: Pointer = None
    k: Pointer = None
    v: Pointer = None
    block_table: Pointer = None
    context_lengths: Pointer = None
    k_scale: Pointer = None
    v_scale: Pointer = None
    scale: F32 = 0.0
    pages_per_sequence: U32 = 0
    kv_heads: U32 = 0
    stride_q: U32 = 0
    stride_page: U32 = 0
    stride_head: U32 = 0
    queries_per_kv_head: U32 = 0
    query_starts: Pointer = None


@dataclass(frozen=True, slots=True)
class Problem:
    """Tokens in the cache of each sequence, and queries of each."""

    contexts: tuple[int, ...]
    queries: int = 1


@dataclass(frozen=True, slots=True)
class _Form:
    """What a kernel's name says."""

    q: np.dtype[Any]
    kv: np.dtype[Any]
    per_kv_head: int
    page: int
    several: int  # queries that it is made for: 1, or its qlen, or 0 for any number
    masked: bool
    starts: bool  # whether it reads the queries' starts


def _form(file: KernelFile) -> _Form:
    found = _NAME.match(file.stem)
    assert found is not None
    q = BF16 if found["q"] == "bf16" else FP16
    kv = {"noquant": q, "pertokenFp8": fp8(file.arch), "pertokenInt8": INT8}[found["kv"]]
    several = 0 if found["mtp"] else int(found["qlen"] or 1)
    page = 1024 if found["qlen"] else 16  # pa_asm.csv's blkSz
    starts = bool(found["mtp"] or found["qlen"])
    return _Form(q, kv, int(found["gqa"]), page, several, found["mask"] == "1", starts)


def _problems(file: KernelFile) -> Mapping[str, Problem]:
    form = _form(file)
    several = form.several or 2
    problems = {
        "short": Problem((37, 150), several),
        "one-token": Problem((several, 16), several),
        "long": Problem((1030, 600), several),
    }
    if form.several == 0:
        problems |= {"one-query": Problem((37, 300), 1), "four-queries": Problem((37, 300), 4)}
    return problems


def _edges(file: KernelFile) -> Mapping[str, Problem]:
    """The host code takes any length, in pages of the kernel's size."""
    form = _form(file)
    several = form.several or 2
    pages = {"a page less 1": form.page - 1, "a page": form.page, "a page and 1": form.page + 1}
    lengths = {_BLOCK - 16, _BLOCK - 15, _BLOCK - 1, _BLOCK, _BLOCK + 1, 2 * _BLOCK - 1, 2 * _BLOCK}
    blocks = {f"{tokens} tokens": tokens for tokens in sorted(lengths)}
    return {name: Problem((max(tokens, several), 20), several) for name, tokens in (pages | blocks).items()}


def _prepare(file: KernelFile, problem: Problem, generator: np.random.Generator) -> Launch:
    form, kv_heads = _form(file), 2
    heads, sequences = kv_heads * form.per_kv_head, len(problem.contexts)
    pages = max(-(-tokens // form.page) for tokens in problem.contexts)
    cache = (sequences * pages + 1, kv_heads, form.page, _HEAD)
    q = normal(generator, (sequences * problem.queries, heads, _HEAD), form.q)
    k = quantized(generator.standard_normal(cache, np.float32), form.kv)
    v = quantized(generator.standard_normal(cache, np.float32), form.kv)
    laid_k, laid_v = _keys(k.values), _values(v.values)
    table = generator.permutation(cache[0])[: sequences * pages].reshape(sequences, pages).astype(np.int32)
    lengths = np.array(problem.contexts, np.int32)
    starts = (np.arange(sequences + 1) * problem.queries).astype(np.int32)
    out = np.empty(q.shape, form.q)
    arguments = PaArguments(
        out=out, q=q, k=laid_k, v=laid_v, block_table=table, context_lengths=lengths,
        k_scale=k.scales, v_scale=v.scales, scale=math.log2(math.e) / math.sqrt(_HEAD),
        pages_per_sequence=pages, kv_heads=kv_heads, stride_q=q[0].nbytes, stride_page=laid_k[0].nbytes,
        stride_head=laid_k[0, 0].nbytes, queries_per_kv_head=form.per_kv_head,
        query_starts=starts if form.starts else None,
    )  # fmt: skip
    exact, bound = _attention(form, problem, wide(q), k, v, table)
    scales = (one for one in (k.scales, v.scales) if one is not None)
    inputs = (q, laid_k, laid_v, table, lengths, starts, *scales)
    return Launch((kv_heads, sequences, 1), _THREADS, arguments.pack(), inputs, (Output("out", out, exact, bound),))


def _keys(keys: NDArray[Any]) -> NDArray[Any]:
    pages, heads, tokens, size = keys.shape
    x = _VECTOR // keys.itemsize
    return np.ascontiguousarray(keys.reshape(pages, heads, tokens, size // x, x).transpose(0, 1, 3, 2, 4))


def _values(values: NDArray[Any]) -> NDArray[Any]:
    pages, heads, tokens, size = values.shape
    x = _VECTOR // values.itemsize
    return np.ascontiguousarray(values.reshape(pages, heads, tokens // x, x, size).transpose(0, 1, 2, 4, 3))


def _attention(
    form: _Form, problem: Problem, q: Float, k: Quantized, v: Quantized, table: NDArray[np.int32]
) -> tuple[Float, Float]:
    """The definition in double precision, and its bound."""
    exact, bound = np.empty_like(q), np.empty_like(q)
    for sequence, tokens in enumerate(problem.contexts):
        for query in range(problem.queries):
            row = sequence * problem.queries + query
            seen = tokens - (problem.queries - 1 - query) * form.masked
            for head in range(q.shape[1]):
                of = head // form.per_kv_head
                keys, values = (
                    cache.exact[table[sequence], of].reshape(-1, _HEAD)[:seen] for cache in (k, v)
                )  # fmt: skip
                scales = np.ones(seen) if v.scales is None else v.scales[table[sequence], of].reshape(-1)[:seen]
                exact[row, head], bound[row, head] = _one(form, q[row, head], keys, values, scales)
    return exact, bound


def _one(form: _Form, q: Float, keys: Float, values: Float, scales: NDArray[Any]) -> tuple[Float, Float]:
    """A query. Its own rounding moves the logits, that of the probabilities their sum; then the result is rounded."""
    logits = keys @ q / math.sqrt(_HEAD)
    weights = np.exp(logits - logits.max())
    weights /= weights.sum()
    result = weights @ values
    magnitude = weights @ np.abs(values)
    to_result = to_float16(form.q)
    of_logits = np.sqrt(keys**2 @ deviation(q, form.kv) ** 2) / math.sqrt(_HEAD)
    by_logits = (weights * of_logits) ** 2 @ (values - result) ** 2
    # a value's scale goes with its probability, whose largest gives the scale
    of_weights = deviation(weights * scales, form.kv) / scales
    by_weights = of_weights**2 @ values**2
    return result, DEVIATIONS * np.sqrt(by_logits + by_weights) + 2 * to_result * magnitude


def _files(wheel: Wheel) -> tuple[KernelFile, ...]:
    return tuple(file for arch in ("gfx942", "gfx950") for file in wheel.files(arch, "pa"))


KIND = Kind("pa", "paged attention of decoding, a page table per sequence", _files, _problems, _prepare, _edges)
