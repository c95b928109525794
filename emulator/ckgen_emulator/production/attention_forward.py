"""Attention forward in bf16: O = softmax(scale · Q Kᵀ, masked) V per head, and the logarithm of each row's sum of exp.

The host's side is fmha_v3_fwd's codegen.py of each arch: tensors as [batch, sequence, head, dimension]; heads of 128,
or 192 for Q and K and 128 for V (gfx950); several query heads share one of K and V. With a mask, query i sees keys up
to i + len(K) - len(Q). Group kernels take sequences of several lengths one after the other, and where each begins.

Names as fwd_hd192_hd128_bf16_causal_rtz_group; rtne, rtna and rtz say how probabilities are rounded to bf16. gfx942's
that say nothing of it are launched by nobody; of these the group kernels expect the others' order of the grid. gfx942
has them all once for a chip of 304 compute units, once for one of 80.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckgen_emulator.production.model import Kind, Launch, Output
from ckgen_emulator.production.numbers import BF16, TO_BF16, Float, normal, wide
from ckgen_emulator.production.slots import F32, U32, Arguments, Pointer
from ckgen_emulator.production.wheel import KernelFile, Wheel

_V_HEAD = 128
_KEYS = 64
"""That a workgroup takes at once."""
_TUNED = 5
_UNTUNED_MASK = 3
"""With a mask, unless the number of heads is a multiple of 8."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardArguments(Arguments):
    """Strides in bytes, of a position (`_sequence`), a head and a batch."""

    o: Pointer = None
    q: Pointer = None
    k: Pointer = None
    v: Pointer = None
    lse: Pointer = None
    scale: F32 = 1
    q_length: U32 = 0
    q_sequence: U32 = 0
    q_tile: U32 = 0
    q_head: U32 = 0
    q_batch: U32 = 0
    heads_per_kv: U32 = 1
    k_sequence: U32 = 0
    k_head: U32 = 0
    k_batch: U32 = 0
    options: U32 = 0
    with_lse: U32 = 0
    k_length: U32 = 0
    qk_dimension: U32 = 0
    v_dimension: U32 = 0
    heads: U32 = 0
    v_sequence: U32 = 0
    v_head: U32 = 0
    v_batch: U32 = 0
    o_sequence: U32 = 0
    o_head: U32 = 0
    o_batch: U32 = 0
    q_starts: Pointer = None
    k_starts: Pointer = None
    lse_head: U32 = 0
    q_padded_starts: Pointer = None
    k_padded_starts: Pointer = None


@dataclass(frozen=True, slots=True)
class Problem:
    """Lengths of Q's and K's sequences, one of each per batch; alike unless the kernel takes groups."""

    q_lengths: tuple[int, ...]
    k_lengths: tuple[int, ...]
    heads: int = 1
    kv_heads: int = 1
    with_lse: bool = True


@dataclass(frozen=True, slots=True)
class _Variant:
    """What a name says."""

    dimension: int
    causal: bool
    group: bool
    tile: int
    threads: int
    tiles_last: bool


def _variant(file: KernelFile) -> _Variant:
    wide_head = "_hd192_" in file.stem
    causal, group = "_causal" in file.stem, file.stem.endswith("_group")
    tiles_last = group and (file.arch == "gfx950" or re.search("_rt(ne|na|z)", file.stem) is not None)
    sizes = (128, 256) if wide_head else (256, 512)
    return _Variant(192 if wide_head else 128, causal, group, *sizes, tiles_last)


def _problems(file: KernelFile) -> Mapping[str, Problem]:
    variant = _variant(file)
    tile = variant.tile
    if variant.group:
        return {
            "one": Problem((tile,), (tile,)),
            "several": Problem((70, tile + 9, 33), (150, tile + 9, 64), heads=2),
        }
    return {
        "tile": Problem((tile,), (tile,)),
        "edge": Problem((tile + 37,), (tile + 101,), with_lse=False),
        "heads": Problem((100, 100), (192, 192), heads=4, kv_heads=2),
    }


def _edges(file: KernelFile) -> Mapping[str, Problem]:
    """The host code rounds tiles of queries up and masks the last keys; with a mask it tells heads in eights apart."""
    variant = _variant(file)
    tile = variant.tile
    problems = {f"{queries} queries": Problem((queries,), (tile,)) for queries in (1, tile - 1, tile + 1)}
    problems |= {
        f"{keys} keys": Problem((_KEYS,), (keys,))
        for keys in (1, _KEYS - 1, _KEYS, _KEYS + 1, 2 * _KEYS - 1, 2 * _KEYS, 2 * _KEYS + 1)
    }
    problems["1 key less than queries"] = Problem((_KEYS + 6,), (_KEYS + 5,))
    if variant.causal:
        problems |= {f"{heads} heads": Problem((_KEYS,), (_KEYS,), heads, heads) for heads in (7, 8, 9)}
    if variant.group:
        problems["no queries, no keys"] = Problem((33, 0, 20), (64, 0, 70))
    return problems


def _prepare(file: KernelFile, problem: Problem, generator: np.random.Generator) -> Launch:
    variant = _variant(file)
    rows, keys = sum(problem.q_lengths), sum(problem.k_lengths)
    q = normal(generator, (rows, problem.heads, variant.dimension), BF16)
    k = normal(generator, (keys, problem.kv_heads, variant.dimension), BF16)
    v = normal(generator, (keys, problem.kv_heads, _V_HEAD), BF16)
    o = np.empty((rows, problem.heads, _V_HEAD), BF16)
    batches = len(problem.q_lengths)
    # lse is [batch, head, position], of groups [head, position].
    lse = np.empty((problem.heads, rows) if variant.group else (batches, problem.heads, rows // batches), np.float32)
    scale = float(np.float32(variant.dimension**-0.5))
    q_starts, k_starts = _starts(problem.q_lengths), _starts(problem.k_lengths)
    longest = max(problem.q_lengths)
    grouped: dict[str, Any] = {}
    if variant.group:
        grouped = {"q_starts": q_starts, "k_starts": k_starts, "q_padded_starts": q_starts, "k_padded_starts": k_starts}
    arguments = ForwardArguments(
        o=o, q=q, k=k, v=v, lse=lse, scale=scale, q_length=longest,
        q_sequence=q.strides[0], q_tile=variant.tile * q.strides[0], q_head=q.strides[1],
        q_batch=0 if variant.group else longest * q.strides[0], heads_per_kv=problem.heads // problem.kv_heads,
        k_sequence=k.strides[0], k_head=k.strides[1],
        k_batch=0 if variant.group else problem.k_lengths[0] * k.strides[0],
        options=_UNTUNED_MASK if variant.causal and problem.heads % 8 else _TUNED, with_lse=problem.with_lse,
        k_length=max(problem.k_lengths), qk_dimension=variant.dimension, v_dimension=_V_HEAD, heads=problem.heads,
        v_sequence=v.strides[0], v_head=v.strides[1],
        v_batch=0 if variant.group else problem.k_lengths[0] * v.strides[0],
        o_sequence=o.strides[0], o_head=o.strides[1], o_batch=0 if variant.group else longest * o.strides[0],
        lse_head=lse.strides[-2], **grouped,
    )  # fmt: skip
    exact, bound, sums = _reference(q, k, v, q_starts, k_starts, scale, causal=variant.causal)
    outputs = [Output("o", o, exact, bound)]
    if problem.with_lse:
        shaped = sums if variant.group else sums.reshape(problem.heads, batches, -1).transpose(1, 0, 2)
        outputs.append(Output("lse", lse, shaped, 1e-4 * np.maximum(1, np.abs(shaped))))
    tiles = -(-longest // variant.tile)
    if variant.causal:
        tiles = -(-tiles // 2)
    grid = (problem.heads, batches, tiles) if variant.tiles_last else (tiles, problem.heads, batches)
    scratch = () if problem.with_lse else (lse,)
    inputs: tuple[NDArray[Any], ...] = (q, k, v, *((q_starts, k_starts) if variant.group else ()))
    units = 80 if "/MI308/" in file.path else None
    return Launch(grid, variant.threads, arguments.pack(), inputs, tuple(outputs), scratch, units)


def _starts(lengths: tuple[int, ...]) -> NDArray[np.int32]:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)


def _reference(
    q: NDArray[Any], k: NDArray[Any], v: NDArray[Any], q_starts: Any, k_starts: Any, scale: float, *, causal: bool
) -> tuple[Float, Float, Float]:
    """O, how far rounding the probabilities and O to bf16 may take it, and the logarithm of the sums [head, position].

    Each probability may be off by 2⁻⁷ of itself (a truncation to bf16; exp and sums add little), O by half of that.
    """
    o, bound = np.zeros(o_shape := (*q.shape[:2], v.shape[2])), np.zeros(o_shape)
    sums = np.full((q.shape[1], q.shape[0]), -np.inf)
    shared = q.shape[1] // k.shape[1]
    for start, end, first, last in zip(q_starts, q_starts[1:], k_starts, k_starts[1:], strict=False):
        if start == end or first == last:
            continue
        hidden = np.triu(np.ones((end - start, last - first), bool), 1 + (last - first) - (end - start))
        for head in range(q.shape[1]):
            scores = wide(q[start:end, head]) @ wide(k[first:last, head // shared]).T * scale
            if causal:
                scores[hidden] = -np.inf
            largest = np.where(np.isinf(top := scores.max(1, keepdims=True)), 0, top)
            weights = np.exp(scores - largest)
            total = weights.sum(1, keepdims=True)
            with np.errstate(divide="ignore", invalid="ignore"):
                weights = np.where(total > 0, weights / total, 0)
                sums[head, start:end] = (np.log(total) + largest)[:, 0]
            values = wide(v[first:last, head // shared])
            o[start:end, head] = weights @ values
            bound[start:end, head] = 2.1 * TO_BF16 * (weights @ np.abs(values)) + TO_BF16 * np.abs(o[start:end, head])
    return o, bound, sums


def _files(wheel: Wheel) -> tuple[KernelFile, ...]:
    folders = (("gfx942", "/MI300"), ("gfx942", "/MI308"), ("gfx950", ""))
    return tuple(file for arch, folder in folders for file in wheel.files(arch, f"fmha_v3_fwd{folder}"))


KIND = Kind("fmha_v3_fwd", "attention forward, bf16", _files, _problems, _prepare, _edges)
