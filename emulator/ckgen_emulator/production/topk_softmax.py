"""Top-k of a softmax over experts: weights and indices of each token's largest gates, largest first.

The host's side is asm_topksoftmax.cu: fp32 gates, 128 or 256 experts, k 6 or 8; a workgroup takes 4 or 12 tokens. Names
as topksoftmax_4x128x8 have the tokens of a group, experts and k.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ckgen_emulator.production.model import Kind, Launch, Output
from ckgen_emulator.production.slots import U32, Arguments, Pointer
from ckgen_emulator.production.wheel import KernelFile, Wheel

_THREADS = 256
_RELATIVE = 1e-5
"""Of the hardware's exp2 and rcp, one unit in the last place each, and of a sum of 256."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopKArguments(Arguments):
    """`out_stride` in bytes of a token."""

    indices: Pointer = None
    weights: Pointer = None
    gates: Pointer = None
    tokens: U32 = 0
    experts: U32 = 0
    k: U32 = 0
    renormalize: U32 = 0
    out_stride: U32 = 0


@dataclass(frozen=True, slots=True)
class Problem:
    """Tokens, whether the k weights sum to 1, and by how many elements the outputs' rows are padded."""

    tokens: int
    renormalize: bool = False
    padding: int = 0


def _shape(file: KernelFile) -> tuple[int, int, int]:
    """Tokens of a workgroup, experts and k."""
    tokens, experts, k = file.stem.split("_")[1].split("x")
    return int(tokens), int(experts), int(k)


def _problems(file: KernelFile) -> Mapping[str, Problem]:
    tokens = _shape(file)[0]
    return {
        "group": Problem(tokens),
        "renormalized": Problem(2 * tokens, renormalize=True),
        "edge": Problem(tokens + 1, padding=3),
        "token": Problem(1, renormalize=True),
    }


def _edges(file: KernelFile) -> Mapping[str, Problem]:
    """The host code rounds groups of tokens up, and takes any stride of the outputs from k on."""
    tokens = _shape(file)[0]
    return {
        "a group less 1": Problem(tokens - 1),
        "a group": Problem(tokens),
        "a group and 1": Problem(tokens + 1),
        "two groups less 1": Problem(2 * tokens - 1, renormalize=True),
        "two groups and 1": Problem(2 * tokens + 1, renormalize=True),
        "stride k": Problem(tokens, renormalize=True),
        "stride k and 1": Problem(tokens, renormalize=True, padding=1),
    }


def _prepare(file: KernelFile, problem: Problem, generator: np.random.Generator) -> Launch:
    of_group, experts, k = _shape(file)
    gates = (3 * generator.standard_normal((problem.tokens, experts))).astype(np.float32)
    exponential = np.exp(gates.astype(np.float64) - gates.max(1, keepdims=True))
    softmax = exponential / exponential.sum(1, keepdims=True)
    order = np.argsort(-gates, axis=1, kind="stable")[:, :k]
    best = np.take_along_axis(softmax, order, 1)
    if problem.renormalize:
        best = best / best.sum(1, keepdims=True)
    stride = k + problem.padding
    indices, weights = np.empty((problem.tokens, stride), np.int32), np.empty((problem.tokens, stride), np.float32)
    arguments = TopKArguments(
        indices=indices, weights=weights, gates=gates, tokens=problem.tokens, experts=experts, k=k,
        renormalize=problem.renormalize, out_stride=4 * stride,
    )  # fmt: skip
    untouched_index, untouched_weight = (
        np.full((problem.tokens, problem.padding), -1),
        np.full((problem.tokens, problem.padding), np.nan),
    )
    outputs = (
        Output("indices", indices, np.hstack([order, untouched_index]), 0),
        Output("weights", weights, np.hstack([best, untouched_weight]), _RELATIVE),
    )
    return Launch((-(-problem.tokens // of_group), 1, 1), _THREADS, arguments.pack(), (gates,), outputs)


def _files(wheel: Wheel) -> tuple[KernelFile, ...]:
    return wheel.files("gfx942", "topksoftmax")


KIND = Kind("topksoftmax", "top-k of a softmax over experts", _files, _problems, _prepare, _edges)
