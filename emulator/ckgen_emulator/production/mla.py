"""Multi-head latent attention of decoding: all heads share one key per token, whose first 512 elements are its value.

Host side: asm_mla.cu, aiter/mla.py. The keys [page, token of the page, 1, 576] are found through a page list. The
tokens may be split: then each split leaves its own softmax in fp32 with the logarithm of its sum, and the reference
joins them as the host's second kernel does. Without a split most kernels write the result as bf16 in the same place.
The kernels of 8-bit operands round the probabilities to fp8.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckgen_emulator.production.model import Kind, Launch, Output
from ckgen_emulator.production.numbers import BF16, FLOAT32, TO_BF16, Float, normal, wide
from ckgen_emulator.production.quantized import DEVIATIONS, deviation, fp8
from ckgen_emulator.production.slots import F32, U32, Arguments, Pointer
from ckgen_emulator.production.wheel import KernelFile, Wheel

_THREADS = 256
_KEY, _VALUE = 576, 512
_Q_SCALE, _KV_SCALE = 0.75, 1.25
_QLEN = re.compile(r"_qseqlen(\d)_")
_NOT_RUN = re.compile(r"_ps(_page)?$|^mla_pfl_|_msk0$")
"""Persistent kernels need work lists of a scheduler, prefill has another host side, msk0 has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MlaArguments(Arguments):
    """Strides in bytes: of a sequence's queries, of a page. `rows`: heads times queries of a sequence."""

    partial: Pointer = None
    log_sums: Pointer = None
    q: Pointer = None
    kv: Pointer = None
    page_starts: Pointer = None
    pages: Pointer = None
    last_page_lengths: Pointer = None
    scale: F32 = 0.0
    rows: U32 = 0
    splits: U32 = 0
    stride_q: U32 = 0
    stride_page: U32 = 0
    log2_page: U32 = 0
    query_starts: Pointer = None
    split_starts: Pointer = None
    out: Pointer = None
    q_scale: Pointer = None
    kv_scale: Pointer = None
    splits_again: U32 = 0


@dataclass(frozen=True, slots=True)
class Problem:
    """Tokens of each sequence, tokens of a page (a power of two), splits of the tokens."""

    contexts: tuple[int, ...]
    page: int = 1
    splits: int = 1


@dataclass(frozen=True, slots=True)
class _Form:
    """What a kernel's name says; `group_rows`: rows of queries and heads that a workgroup takes.

    `block`: tokens that a workgroup takes at once; the splits take the blocks in turn.
    """

    operand: np.dtype[Any]
    heads: int
    queries: int
    group_rows: int
    block: int
    joins: bool  # writes bf16 where there is one split


def _form(file: KernelFile) -> _Form:
    stem = file.stem
    operand = fp8(file.arch) if "_a8w8_" in stem else BF16
    heads = 128 if "qh128" in stem or "mqa128" in stem else 16
    found = _QLEN.search(stem)
    several = {"mla_a16w16_qh16_m16x4_n16x1_coex0_mask1": 4, "mla_a16w16_qh16_m32x4_n16x1_coex0_mask1": 8}
    queries = int(found[1]) if found is not None else several.get(stem, 1)
    decoding = "_subQ16_" in stem
    if operand == BF16:
        block = 64 if decoding else 16
    else:
        block = 64 if heads * queries <= (64 if file.arch == "gfx950" else 32) else 32
    return _Form(operand, heads, queries, 16 if decoding else 128, block, not decoding)


def _problems(file: KernelFile) -> Mapping[str, Problem]:
    queries = _form(file).queries
    return {
        "short": Problem((100, 37)),
        "long": Problem((260, 128)),
        "few-tokens": Problem((queries, 17)),
        "split": Problem((300, 260), splits=2),
    }


def _edges(file: KernelFile) -> Mapping[str, Problem]:
    """The host code takes any length, and as many splits as it is told; an empty split has no result to compare."""
    form = _form(file)
    least = max(form.queries, 1)
    blocks = {"less 1": form.block - 1, "": form.block, "and 1": form.block + 1}
    problems = {
        f"a block {what}".rstrip(): Problem((max(tokens, least), 2 * form.block)) for what, tokens in blocks.items()
    }
    return problems | {
        "3 blocks, 2 splits": Problem((3 * form.block, 3 * form.block), splits=2),
        "3 blocks, 3 splits": Problem((3 * form.block + least - 1, 3 * form.block + least - 1), splits=3),
        "3 blocks less 1, 3 splits": Problem((3 * form.block + least - 2, 3 * form.block + least - 1), splits=3),
        "pages of 2, the last half full": Problem((form.block + 1, 37), page=2),
    }


def _prepare(file: KernelFile, problem: Problem, generator: np.random.Generator) -> Launch:
    form, page, splits = _form(file), problem.page, problem.splits
    sequences, queries, heads = len(problem.contexts), form.queries, form.heads
    counts = [-(-tokens // page) for tokens in problem.contexts]
    in_all = sum(counts) + 3
    q = normal(generator, (sequences * queries, heads, _KEY), form.operand)
    kv = normal(generator, (in_all, page, 1, _KEY), form.operand)
    pages = generator.permutation(in_all)[: sum(counts)].astype(np.int32)
    page_starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    last = np.array([t - (n - 1) * page for t, n in zip(problem.contexts, counts, strict=True)], np.int32)
    query_starts = (np.arange(sequences + 1) * queries).astype(np.int32)
    split_starts = (np.arange(sequences + 1) * splits).astype(np.int32)
    scales = (np.array([_Q_SCALE], np.float32), np.array([_KV_SCALE], np.float32))
    scaled = form.operand != BF16
    direct = form.joins and splits == 1
    partial = np.empty((sequences * queries, splits, heads, _VALUE), BF16 if direct else np.float32)
    log_sums = np.empty((sequences * queries, splits, heads), np.float32)
    out = np.empty((sequences * queries, heads, _VALUE), BF16)
    arguments = MlaArguments(
        partial=partial, log_sums=log_sums, q=q, kv=kv, page_starts=page_starts, pages=pages, last_page_lengths=last,
        scale=1 / math.sqrt(_KEY), rows=heads * queries, splits=splits, stride_q=q[0].nbytes * queries,
        stride_page=kv[0].nbytes, log2_page=page.bit_length() - 1, query_starts=query_starts,
        split_starts=split_starts, out=out, q_scale=scales[0] if scaled else None,
        kv_scale=scales[1] if scaled else None, splits_again=splits,
    )  # fmt: skip
    tokens = [kv[pages[first:end]].reshape(-1, _KEY) for first, end in pairwise(page_starts)]
    exact = _attention(form, problem, wide(q), [wide(one) for one in tokens], scaled)
    outputs = _direct_output(partial, exact) if direct else _split_outputs(partial, log_sums, exact)
    inputs = (q, kv, pages, page_starts, last, query_starts, split_starts, *scales)
    grid = (-(-queries * heads // form.group_rows), sequences, splits)
    scratch = (log_sums, out) if direct else (out,)
    return Launch(grid, _THREADS, arguments.pack(), inputs, outputs, scratch)


@dataclass(frozen=True, slots=True)
class _Exact:
    """Per split: results, their bounds, logarithms of the sums; [query, split, head, …]."""

    results: Float
    bounds: Float
    log_sums: Float


def _attention(form: _Form, problem: Problem, q: Float, tokens: list[Float], scaled: bool) -> _Exact:
    rows, splits = q.shape[0], problem.splits
    results = np.empty((rows, splits, form.heads, _VALUE))
    bounds, log_sums = np.empty_like(results), np.empty((rows, splits, form.heads))
    factor = (_Q_SCALE * _KV_SCALE if scaled else 1.0) / math.sqrt(_KEY)
    for row in range(rows):
        sequence, query = divmod(row, form.queries)
        seen = problem.contexts[sequence] - (form.queries - 1 - query)
        in_blocks = np.arange(seen) // form.block % splits
        for split in range(splits):
            keys = tokens[sequence][:seen][in_blocks == split]
            logits = q[row] @ keys.T * factor
            top = logits.max(1, keepdims=True)
            weights = np.exp(logits - top)
            sums = weights.sum(1, keepdims=True)
            log_sums[row, split] = (top + np.log(sums))[:, 0]
            weights /= sums
            values = keys[:, :_VALUE] * (_KV_SCALE if scaled else 1.0)
            results[row, split] = weights @ values
            of_weights = deviation(weights, form.operand) ** 2 @ values**2
            magnitude = weights @ np.abs(values)
            bounds[row, split] = DEVIATIONS * np.sqrt(of_weights) + (2 * TO_BF16 + 1e-4) * magnitude
    return _Exact(results, bounds, log_sums)


def _direct_output(partial: NDArray[Any], exact: _Exact) -> tuple[Output, ...]:
    return (Output("out", partial, exact.results, exact.bounds),)


def _split_outputs(partial: NDArray[Any], log_sums: NDArray[Any], exact: _Exact) -> tuple[Output, ...]:
    of_sums = 64 * FLOAT32 * (1 + np.abs(exact.log_sums))
    return (
        Output("partial", partial, exact.results, exact.bounds),
        Output("log_sums", log_sums, exact.log_sums, of_sums),
    )


def _files(wheel: Wheel) -> tuple[KernelFile, ...]:
    files = (file for arch in ("gfx942", "gfx950") for file in wheel.files(arch, "mla"))
    return tuple(file for file in files if _NOT_RUN.search(file.stem) is None)


KIND = Kind("mla", "latent attention of decoding, one key for all heads", _files, _problems, _prepare, _edges)
