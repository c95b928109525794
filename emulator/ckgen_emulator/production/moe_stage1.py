"""The first of two kernels of a mixture of experts: act(gate) * up of every token's choices, [token, choice, inter].

Host side: asm_moe_2stage.cu, aiter/fused_moe.py's asm_stage1. Operands are 8-bit with a scale per row; doweight weights
the input. blockscale: scales per 128 elements of a row and per 128 by 128 of a weight; its result is fp8 as well, and
its scales, one per 128 elements, follow the last token's results.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckgen_emulator.production.expert_layers import BLOCK, Weights, activated, rows_in_blocks, weights
from ckgen_emulator.production.model import Kind, Launch, Output
from ckgen_emulator.production.numbers import BF16, FLOAT32, TO_BF16, Float
from ckgen_emulator.production.quantized import INT8, fp8, largest, quantized
from ckgen_emulator.production.routing import Routing, routed
from ckgen_emulator.production.slots import U32, Arguments, Pointer
from ckgen_emulator.production.wheel import KernelFile, Wheel

_THREADS = 256
_NAME = re.compile(r"fmoe_stage1_bf16_pertoken(?P<quant>Fp8|Int8)_(?P<form>blockscale_|doweight_)?g1u1_(\d+)x(\d+)")
_ACTIVATION = {"silu": 0, "gelu": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage1Arguments(Arguments):
    """Strides in bytes, of rows, and of experts for weights and scales."""

    out: Pointer = None
    x: Pointer = None
    w1: Pointer = None
    valid: Pointer = None
    x_scale: Pointer = None
    w1_scale: Pointer = None
    smooth: Pointer = None
    ids: Pointer = None
    block_experts: Pointer = None
    model: U32 = 0
    inter: U32 = 0
    tokens: U32 = 0
    experts: U32 = 0
    stride_x: U32 = 0
    stride_w1: U32 = 0
    stride_out: U32 = 0
    expert_w1: U32 = 0
    expert_w1_scale: U32 = 0
    expert_smooth: U32 = 0
    choices: U32 = 0
    split_k: U32 = 0
    activation: U32 = 0
    id_weights: Pointer = None


@dataclass(frozen=True, slots=True)
class Problem:
    """Sizes; `tiles`: how often the kernel's columns are in the inner size."""

    tokens: int
    model: int
    tiles: int = 1
    activation: str = "silu"
    experts: int = 3
    choices: int = 2


@dataclass(frozen=True, slots=True)
class _Form:
    """What a kernel's name says."""

    operand: np.dtype[Any]
    blocks: bool
    weighted: bool
    rows: int
    columns: int


def _form(file: KernelFile) -> _Form:
    found = _NAME.match(file.stem)
    assert found is not None
    operand = INT8 if found["quant"] == "Int8" else fp8(file.arch)
    return _Form(operand, found["form"] == "blockscale_", found["form"] == "doweight_", int(found[3]), int(found[4]))


def _problems(_: KernelFile) -> Mapping[str, Problem]:
    return {"few": Problem(5, 512, 2), "deep": Problem(3, 1536), "gelu": Problem(7, 512, activation="gelu")}


def _edges(file: KernelFile) -> Mapping[str, Problem]:
    """The host code sorts tokens into blocks of the kernel's rows, and takes inner sizes in its columns."""
    rows = _form(file).rows
    return {
        "a block less 1": Problem(rows - 1, 512, experts=1, choices=1),
        "a block": Problem(rows, 512, experts=1, choices=1),
        "a block and 1": Problem(rows + 1, 512, experts=1, choices=1),
        "1 token": Problem(1, 512),
        "3 columns of workgroups": Problem(3, 512, 3),
        "an expert without tokens": Problem(1, 512, experts=4, choices=1),
    }


def _prepare(file: KernelFile, problem: Problem, generator: np.random.Generator) -> Launch:
    form = _form(file)
    tokens, model, choices = problem.tokens, problem.model, problem.choices
    inter = form.columns * problem.tiles
    if form.blocks:  # whole blocks of scales
        inter = -(-inter // BLOCK) * BLOCK
    routing = routed(generator, tokens, problem.experts, choices, form.rows)
    w1 = weights(generator, (problem.experts, 2 * inter, model), form.operand, form.blocks)
    values = generator.standard_normal((tokens, model), np.float32)
    x = rows_in_blocks(values, form.operand) if form.blocks else quantized(values, form.operand)
    assert x.scales is not None and w1.scales is not None
    exact, of_sums = _first_layer(form, problem, routing, x.exact, w1)
    out, outputs = _outputs(form, exact, of_sums)
    arguments = Stage1Arguments(
        out=out, x=x.values, w1=w1.laid, valid=routing.valid, x_scale=x.scales, w1_scale=w1.scales, ids=routing.ids,
        block_experts=routing.block_experts, model=model, inter=inter, tokens=tokens, experts=problem.experts,
        stride_x=model, stride_w1=model, stride_out=choices * inter * out.itemsize, expert_w1=w1.expert_bytes,
        expert_w1_scale=w1.expert_scale_bytes, expert_smooth=4 * inter, choices=choices,
        activation=_ACTIVATION[problem.activation], id_weights=routing.id_weights if form.weighted else None,
    )  # fmt: skip
    sorted_ids = (routing.valid, routing.ids, routing.id_weights, routing.block_experts)
    inputs = (x.values, w1.laid, x.scales, w1.scales, *sorted_ids)
    grid = (-(-inter // form.columns), routing.blocks, 1)
    return Launch(grid, _THREADS, arguments.pack(), inputs, outputs)


def _first_layer(form: _Form, problem: Problem, routing: Routing, x: Float, w1: Weights) -> tuple[Float, Float]:
    """act(gate) * up in double precision, and the error of sums in single precision."""
    inter = w1.exact.shape[1] // 2
    shape = (problem.tokens, problem.choices, inter)
    exact, bound = np.empty(shape), np.empty(shape)
    for (token, choice), expert in np.ndenumerate(routing.experts):
        row = x[token] * (float(routing.weights[token, choice]) if form.weighted else 1.0)
        sums, magnitude = w1.exact[expert] @ row, np.abs(w1.exact[expert]) @ np.abs(row)
        gate, up = activated(sums[:inter], problem.activation), sums[inter:]
        exact[token, choice] = gate * up
        of_sums = problem.model * FLOAT32 * magnitude
        moved = 1.2 * of_sums[:inter] * np.abs(up) + of_sums[inter:] * np.abs(gate)  # act's slope is at most 1.13
        approximate = 2e-3 if problem.activation == "gelu" else 1e-5  # of the activation: tanh form, exp, reciprocal
        bound[token, choice] = moved + approximate * (np.abs(up) + np.abs(exact[token, choice]))
    return exact, bound


def _outputs(form: _Form, exact: Float, of_sums: Float) -> tuple[NDArray[Any], tuple[Output, ...]]:
    """The result's array, and what is compared: views of it where it holds scales too."""
    tokens, choices, inter = exact.shape
    if not form.blocks:
        out = np.empty(exact.shape, BF16)
        return out, (Output("out", out, exact, 1.01 * TO_BF16 * np.abs(exact) + of_sums),)
    out = np.empty((tokens + -(-4 * tokens // BLOCK), choices, inter), form.operand)
    return out, (_BlockScaled(out, exact, of_sums).output(),)


@dataclass(frozen=True, slots=True)
class _BlockScaled:
    """Results with a scale per 128 elements behind them."""

    out: NDArray[Any]
    exact: Float
    of_sums: Float

    def output(self) -> Output:
        """Compares value times scale: a unit in the last place of e4m3, of its subnormal values too, and the sums."""
        blocks = self.exact.reshape(-1, BLOCK)
        top = np.abs(blocks).max(1, keepdims=True)
        rounded = 2.0**-3 * np.maximum(np.abs(blocks), 2.0**-5 * top / largest(self.out.dtype))
        bound = 1.01 * rounded.reshape(self.exact.shape) + self.of_sums
        return Output("out", self.out, self.exact, bound, decoded=self.decoded)

    def decoded(self, out: NDArray[Any]) -> NDArray[Any]:
        """The values that the kernel's bytes stand for."""
        tokens = self.exact.shape[0]
        count = self.exact.size // BLOCK
        scales = out[tokens:].reshape(-1).view(np.uint8)[: 4 * count].view(np.float32)
        values = out[:tokens].astype(np.float32).reshape(-1, BLOCK)
        return (values * scales[:, None]).reshape(self.exact.shape)


def _files(wheel: Wheel) -> tuple[KernelFile, ...]:
    return tuple(file for arch in ("gfx942", "gfx950") for file in wheel.files(arch, "fmoe_2stages"))


KIND = Kind("fmoe_stage1", "mixture of experts, first of two kernels", _files, _problems, _prepare, _edges)
