"""Attention's gradients dQ, dK, dV (FMHA v3): the main kernels, batches of equal sequences.

Host side: fmha_v3_bwd/codegen.py and mha_bwd.h. Tensors are [batch, token, head, element] in bf16 or fp16; the
logarithm of each row's sum and D, the row sums of dO · O, are [batch, head, query] in fp32 and come from earlier
kernels. a32: dQ is added to in fp32, [batch, head, query, element], and another kernel rounds it; a16: in place, in
the tensors' type. rtne, rtna, rtz: how fp32 becomes bf16. Those without pssk need as many keys as queries, in 64s;
causal masks count from the first key, br from the last.
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
from ckgen_emulator.production.numbers import BF16, FLOAT32, Float, normal, wide
from ckgen_emulator.production.quantized import FP16, to_float16
from ckgen_emulator.production.slots import F32, U32, Arguments, Pointer
from ckgen_emulator.production.wheel import KernelFile, Wheel

_THREADS = 256
_NAME = re.compile(
    r"bwd_hd(?P<size>\d+)(?:_hd(?P<values>\d+))?_(?P<type>bf16|fp16)_(?P<mask>causal_br_|causal_)?a(?P<add>16|32)"
    r"(?:_rt(?:ne|na|z))?(?:_(?P<pad>pssk|psskddv|pddv))?$"
)
_KEYS = {64: 192, 128: 192, 192: 64}
_KEYS_OF_GFX950 = {128: 256, 192: 192}
"""Keys of a workgroup, by head size (FmhaBwdV3Ts)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tensors(Arguments):
    """What every form begins with."""

    dq: Pointer = None
    dk: Pointer = None
    dv: Pointer = None
    q: Pointer = None
    k: Pointer = None
    v: Pointer = None
    do: Pointer = None
    log_sums: Pointer = None
    d: Pointer = None
    scale: F32 = 0.0
    log2e: F32 = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeArguments(_Tensors):
    """Of kernels without padding; strides in bytes, those of q also of dO and dQ, those of k also of v."""

    queries: U32 = 0
    stride_tile: U32 = 0
    head_q: U32 = 0
    batch_q: U32 = 0
    row_q: U32 = 0
    ratio: U32 = 0
    head_k: U32 = 0
    batch_k: U32 = 0
    row_k: U32 = 0
    row_dk: U32 = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeRowsArguments(WholeArguments):
    """The same with a head size that may be smaller than the name's."""

    size: U32 = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PaddedArguments(_Tensors):
    """Of kernels that pad; strides in bytes. Eight bytes each."""

    ratio: U32 = 0
    queries: U32 = 0
    keys: U32 = 0
    size: U32 = 0
    heads: U32 = 0
    head_q: U32 = 0
    batch_q: U32 = 0
    row_q: U32 = 0
    head_k: U32 = 0
    batch_k: U32 = 0
    row_k: U32 = 0
    head_v: U32 = 0
    batch_v: U32 = 0
    row_v: U32 = 0
    head_do: U32 = 0
    batch_do: U32 = 0
    row_do: U32 = 0
    head_dk: U32 = 0
    batch_dk: U32 = 0
    row_dk: U32 = 0
    head_dv: U32 = 0
    batch_dv: U32 = 0
    row_dv: U32 = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Gfx950Arguments(WholeArguments):
    """Of gfx950's own kernels; strides in bytes. `starts`: of sequences of unequal length."""

    keys: U32 = 0
    size: U32 = 0
    value_size: U32 = 0
    heads: U32 = 0
    head_v: U32 = 0
    batch_v: U32 = 0
    row_v: U32 = 0
    head_do: U32 = 0
    batch_do: U32 = 0
    row_do: U32 = 0
    head_dk: U32 = 0
    batch_dk: U32 = 0
    head_dv: U32 = 0
    batch_dv: U32 = 0
    row_dv: U32 = 0
    head_log_sums: U32 = 0
    query_starts: Pointer = None
    key_starts: Pointer = None
    query_starts_padded: Pointer = None
    key_starts_padded: Pointer = None
    most_queries: U32 = 0
    mask_x: U32 = 0
    mask_y: U32 = 0


@dataclass(frozen=True, slots=True)
class Problem:
    """Queries, keys, and heads of each."""

    queries: int
    keys: int
    heads: int = 2
    heads_k: int = 2
    batch: int = 1


@dataclass(frozen=True, slots=True)
class _Form:
    """What a kernel's name says; `pad`: which tails it allows; `keys`: of a workgroup."""

    size: int
    value_size: int
    own: bool  # gfx950's own
    keys: int
    dtype: np.dtype[Any]
    causal: bool
    from_last: bool
    in_fp32: bool
    pad: str
    to: float  # relative error of a conversion


def _form(file: KernelFile) -> _Form:
    found = _NAME.match(file.stem)
    assert found is not None
    dtype, mask = BF16 if found["type"] == "bf16" else FP16, found["mask"] or ""
    pad = found["pad"] or ""
    to = to_float16(dtype) * (2 if "_rtz" in file.stem else 1)
    size = int(found["size"])
    own = _is_own(file)
    return _Form(
        size=size,
        value_size=int(found["values"] or size),
        own=own,
        keys=(_KEYS_OF_GFX950 if own else _KEYS)[size],
        dtype=dtype,
        causal=mask != "",
        from_last=mask == "causal_br_",
        in_fp32=found["add"] == "32",
        pad=pad,
        to=to,
    )


def _is_own(file: KernelFile) -> bool:
    """gfx950 has kernels of its own for heads of 128 with padding, and of 192 with values of 128."""
    return file.arch == "gfx950" and ("_hd128_" in file.stem and "_rt" not in file.stem)


def _problems(file: KernelFile) -> Mapping[str, Problem]:
    form = _form(file)
    if form.pad.startswith("pssk"):
        return {"tail": Problem(100, 230), "short": Problem(33, 50, 2, 1), "grouped": Problem(64, 197, 4, 2, 2)}
    return {"whole": Problem(256, 256), "grouped": Problem(64, 64, 4, 2, 2)}


def _edges(file: KernelFile) -> Mapping[str, Problem]:
    """Without pssk the host code needs as many keys as queries, in 64s; with it, it rounds tiles up."""
    form = _form(file)
    if form.pad.startswith("pssk"):
        tile = form.keys
        keys = {f"{keys} keys": Problem(64, keys) for keys in (1, tile - 1, tile, tile + 1)}
        return keys | {f"{queries} queries": Problem(queries, 64) for queries in (1, 63, 65)}
    return {
        "64 of both": Problem(64, 64),
        "128 of both": Problem(128, 128),
        "63 of both": Problem(63, 63),
        "65 of both": Problem(65, 65),
        "64 queries, 128 keys": Problem(64, 128),
    }


def _prepare(file: KernelFile, problem: Problem, generator: np.random.Generator) -> Launch:
    form = _form(file)
    batch, heads, size = problem.batch, problem.heads, form.size
    of_queries, of_keys = (batch, problem.queries, heads), (batch, problem.keys, problem.heads_k)
    q, do = (normal(generator, (*of_queries, last), form.dtype) for last in (size, form.value_size))
    k, v = (normal(generator, (*of_keys, last), form.dtype) for last in (size, form.value_size))
    expected = _gradients(form, problem, *(wide(one) for one in (q, k, v, do)))
    dk, dv = (np.empty((batch, problem.keys, heads, last), form.dtype) for last in (size, form.value_size))
    dq, exact_dq, bound_dq = _dq(form, q.shape, expected)
    tensors = {
        "dq": dq, "dk": dk, "dv": dv, "q": q, "k": k, "v": v, "do": do, "log_sums": expected.log_sums,
        "d": expected.d, "scale": 1 / math.sqrt(size), "log2e": math.log2(math.e),
    }  # fmt: skip
    outputs = (
        Output("dq", dq, exact_dq, bound_dq, zeroed=True),
        Output("dk", dk, expected.dk, expected.of_dk),
        Output("dv", dv, expected.dv, expected.of_dv),
    )
    tiles = -(-problem.keys // form.keys)
    grid = (-(-tiles // 2) if form.causal else tiles, heads, batch)
    arguments = _arguments(form, problem, tensors)
    return Launch(grid, _THREADS, arguments, (q, k, v, do, expected.log_sums, expected.d), outputs)


def _arguments(form: _Form, problem: Problem, tensors: dict[str, Any]) -> bytes:
    ratio = problem.heads // problem.heads_k
    strides: dict[str, Any] = {}
    for name in ("q", "k", "v", "do", "dk", "dv"):
        batch, row, head, _ = tensors[name].strides
        strides |= {f"head_{name}": head, f"batch_{name}": batch, f"row_{name}": row}
    sizes: dict[str, Any] = {"keys": problem.keys, "size": form.size, "heads": problem.heads}
    common = {**tensors, "ratio": ratio, "queries": problem.queries}
    tile = form.keys * strides["row_k"]
    if form.own:
        head_log_sums = tensors["log_sums"].strides[1]
        return Gfx950Arguments(
            **common, **strides, **sizes, stride_tile=tile, value_size=form.value_size, head_log_sums=head_log_sums,
            most_queries=problem.queries,
        ).pack()  # fmt: skip
    if form.pad.startswith("pssk"):
        return PaddedArguments(**common, **strides, **sizes).pack(slot=8)
    whole = {name: strides[name] for name in ("head_q", "batch_q", "row_q", "head_k", "batch_k", "row_k", "row_dk")}
    if form.pad == "pddv":
        return WholeRowsArguments(**common, **whole, stride_tile=tile, size=form.size).pack()
    return WholeArguments(**common, **whole, stride_tile=tile).pack()


def _dq(form: _Form, shape: tuple[int, ...], expected: _Gradients) -> tuple[NDArray[Any], Float, Float]:
    """The array that dQ is added to, and what it should hold."""
    if form.in_fp32:
        return np.empty(expected.dq.shape, np.float32), expected.dq, expected.of_dq
    bound = expected.of_dq + 2 * form.to * expected.parts_of_dq  # each tile of keys adds, rounded
    return np.empty(shape, form.dtype), expected.dq.transpose(0, 2, 1, 3), bound.transpose(0, 2, 1, 3)


@dataclass(frozen=True, slots=True)
class _Gradients:
    """What goes in besides the tensors, what comes out, and bounds; dq is [batch, head, query, element].

    `parts_of_dq`: the sum of what each tile of keys adds, absolute.
    """

    log_sums: NDArray[np.float32]
    d: NDArray[np.float32]
    dq: Float
    dk: Float
    dv: Float
    of_dq: Float
    of_dk: Float
    of_dv: Float
    parts_of_dq: Float


def _gradients(form: _Form, problem: Problem, q: Float, k: Float, v: Float, do: Float) -> _Gradients:
    """The definition in double precision. Kernels round the probabilities and dS to the tensors' type."""
    repeated_k, repeated_v = (np.repeat(one, problem.heads // problem.heads_k, 2) for one in (k, v))
    scale = 1 / math.sqrt(form.size)
    logits = np.einsum("bqhd,bkhd->bhqk", q, repeated_k) * scale
    if form.causal:
        shift = problem.keys - problem.queries if form.from_last else 0
        seen = np.arange(problem.keys) <= np.arange(problem.queries)[:, None] + shift
        logits = np.where(seen, logits, -np.inf)
    top = np.maximum(logits.max(-1, keepdims=True), -1e30)
    sums = np.exp(logits - top).sum(-1, keepdims=True)
    p = np.exp(logits - top) / np.maximum(sums, 1e-300)
    out = np.einsum("bhqk,bkhd->bqhd", p, repeated_v)
    d = np.einsum("bqhd,bqhd->bhq", do, out)
    dp = np.einsum("bqhd,bkhd->bhqk", do, repeated_v)
    ds = p * (dp - d[..., None])
    # fp32 sums in the logits and dP, whose errors p and p · (dP - D) carry on; dS may come from p that is rounded
    of_dp = form.value_size * FLOAT32 * np.einsum("bqhd,bkhd->bhqk", np.abs(do), np.abs(repeated_v))
    of_p = p * (form.size * FLOAT32 * 8 + 2.0**-16)
    to, tiny = form.to, float(np.finfo(FP16).smallest_subnormal) if form.dtype == FP16 else 0.0
    of_ds = 2 * to * np.abs(ds) + tiny + p * of_dp + of_p * np.abs(dp - d[..., None]) + 2.0**-20 * p
    dq, dk, dv = (
        np.einsum("bhqk,bkhd->bhqd", ds, repeated_k) * scale,
        np.einsum("bhqk,bqhd->bkhd", ds, q) * scale,
        np.einsum("bhqk,bqhd->bkhd", p, do),
    )
    sums_of = problem.queries * FLOAT32
    of_dq = np.einsum("bhqk,bkhd->bhqd", of_ds + FLOAT32 * problem.keys * np.abs(ds), np.abs(repeated_k)) * scale
    of_dk = np.einsum("bhqk,bqhd->bkhd", of_ds + sums_of * np.abs(ds), np.abs(q)) * scale + 2 * to * np.abs(dk) + tiny
    of_dv = np.einsum("bhqk,bqhd->bkhd", (to + sums_of) * p + tiny + of_p, np.abs(do)) + 2 * to * np.abs(dv) + tiny
    each = form.keys
    parts = (
        np.einsum("bhqk,bkhd->bhqd", ds[..., at : at + each], repeated_k[:, at : at + each])
        for at in range(0, problem.keys, each)
    )
    log_sums = (top + np.log(np.maximum(sums, 1e-300)))[..., 0]
    return _Gradients(
        np.ascontiguousarray(np.where(sums[..., 0] > 0, log_sums, 0), np.float32), np.ascontiguousarray(d, np.float32),
        dq, dk, dv, of_dq, of_dk, of_dv, scale * sum(np.abs(part) for part in parts),
    )  # fmt: skip


def _files(wheel: Wheel) -> tuple[KernelFile, ...]:
    """gfx950's own kernels only where they add in fp32: else another kernel unshuffles dQ."""
    of_both = (file for arch in ("gfx942", "gfx950") for file in wheel.files(arch, "fmha_v3_bwd"))
    found = (file for file in of_both if _NAME.match(file.stem))
    return tuple(file for file in found if not (_is_own(file) and "_a16_" in file.stem))


KIND = Kind("fmha_v3_bwd", "attention's gradients, one kernel for dQ, dK and dV", _files, _problems, _prepare, _edges)
