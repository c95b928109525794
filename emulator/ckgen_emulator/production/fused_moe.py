"""A mixture of experts in one kernel: both layers of every token's chosen experts, weighted and added.

Host side: asm_fmoe.cu, aiter/fused_moe_bf16_asm.py. g1u1: the first layer has a gate and an up half, act(gate) * up;
g1u0: act alone. Weights are shuffled by (16, 16). The 8-bit kernels round the first layer's result to the operands'
type, a scale per row of what a workgroup has (subGU columns). multix, and g1u0 of int8: every choice has its own
quantised input, smoothed by its expert's scale per column, [choice, token, in]; so has the second layer's input.
tkw1: the input is weighted, not the result. ps: so many workgroups share all blocks. Results are added atomically.
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
from ckgen_emulator.production.numbers import BF16, Float
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
from ckgen_emulator.production.routing import Routing, routed
from ckgen_emulator.production.slots import U32, Arguments, Pointer
from ckgen_emulator.production.wheel import KernelFile, Wheel

_THREADS = 256
_PERSISTENT = 8  # workgroups: enough for the order of their work to matter
_NAME = re.compile(
    r"fmoe_(?P<out>bf16|fp16)_(?P<quant>pertokenFp8|pertokenInt8|blockscaleFp8|noquantBf16|noquantFp16)_"
    r"(?P<gates>g1u[01])_(?P<middle>(?:[a-z0-9]+_)*?)(?P<act>silu|gelu)_(?:vs_)?\dtg_(?P<ps>ps_)?(?P<m>\d+)x(?P<n>\d+)$"
)
_OLD_BF16 = re.compile(r"fmoe_(b|f)16$")


@dataclass(frozen=True, slots=True, kw_only=True)
class MoeArguments(Arguments):
    """Strides in bytes, of rows, and of experts for weights and scales."""

    out: Pointer = None
    x: Pointer = None
    w1: Pointer = None
    valid: Pointer = None
    w2: Pointer = None
    x_scale: Pointer = None
    w1_scale: Pointer = None
    w2_scale: Pointer = None
    smooth: Pointer = None
    ids: Pointer = None
    id_weights: Pointer = None
    block_experts: Pointer = None
    model: U32 = 0
    inter: U32 = 0
    tokens: U32 = 0
    experts: U32 = 0
    stride_x: U32 = 0
    stride_w1: U32 = 0
    stride_w2: U32 = 0
    stride_out: U32 = 0
    expert_w1: U32 = 0
    expert_w2: U32 = 0
    expert_w1_scale: U32 = 0
    expert_w2_scale: U32 = 0
    expert_smooth: U32 = 0
    choices: U32 = 0
    groups: U32 = 0
    groups_per_block: U32 = 0


@dataclass(frozen=True, slots=True)
class Problem:
    """Sizes; `splits`: how often the kernel's subGU columns are in the inner size."""

    tokens: int
    model: int
    splits: int = 1
    experts: int = 3
    choices: int = 2


@dataclass(frozen=True, slots=True)
class _Form:
    """What a kernel's name says."""

    out: np.dtype[Any]
    operand: np.dtype[Any]
    blocks: bool
    gated: bool
    smooth: bool
    weighted_input: bool
    activation: str
    persistent: bool
    rows: int
    columns: int


def _form(file: KernelFile) -> _Form:
    old = _OLD_BF16.match(file.stem)
    if old is not None:
        dtype = BF16 if old[1] == "b" else FP16
        return _Form(dtype, dtype, False, False, False, False, "gelu", False, 32, 512)
    found = _NAME.match(file.stem)
    assert found is not None
    quant, middle = found["quant"], found["middle"].split("_")
    operands = {"pertokenInt8": INT8, "noquantBf16": BF16, "noquantFp16": FP16}
    gated = found["gates"] == "g1u1"
    return _Form(
        out=BF16 if found["out"] == "bf16" else FP16,
        operand=operands.get(quant, fp8(file.arch)),
        blocks=quant.startswith("blockscale"),
        gated=gated,
        smooth="multix" in middle or (quant == "pertokenInt8" and not gated),
        weighted_input="tkw1" in middle,
        activation=found["act"],
        persistent=found["ps"] is not None,
        rows=int(found["m"]),
        columns=int(found["n"]),
    )


def _problems(_: KernelFile) -> Mapping[str, Problem]:
    return {"few": Problem(5, 512), "wide": Problem(3, 1024, splits=2), "full-block": Problem(40, 512, 1, 2, 1)}


def _edges(file: KernelFile) -> Mapping[str, Problem]:
    """The host code sorts tokens into blocks of the kernel's rows, and takes inner sizes in its columns."""
    form = _form(file)
    rows = form.rows
    problems = {
        "a block less 1": Problem(rows - 1, 512, 1, 1, 1),
        "a block": Problem(rows, 512, 1, 1, 1),
        "a block and 1": Problem(rows + 1, 512, 1, 1, 1),
        "1 token": Problem(1, 512),
        "an expert without tokens": Problem(1, 512, 1, 4, 1),
    }
    if not form.persistent:
        problems["3 columns of workgroups"] = Problem(3, 512, 3)
    return problems


def _prepare(file: KernelFile, problem: Problem, generator: np.random.Generator) -> Launch:
    form = _form(file)
    model, inter, experts = problem.model, form.columns * problem.splits, problem.experts
    routing = routed(generator, problem.tokens, experts, problem.choices, form.rows)
    w1 = weights(generator, (experts, inter * (1 + form.gated), model), form.operand, form.blocks)
    w2 = weights(generator, (experts, model, inter), form.operand, form.blocks)
    smooth = generator.uniform(0.5, 1.5, (experts, inter)).astype(np.float32) if form.smooth else None
    x = _input(form, problem, routing, generator)
    out = np.empty((problem.tokens, model), form.out)
    size = form.operand.itemsize
    persistent = _PERSISTENT // problem.splits * problem.splits if form.persistent else 0
    arguments = MoeArguments(
        out=out, x=x.values, w1=w1.laid, valid=routing.valid, w2=w2.laid, x_scale=x.scales, w1_scale=w1.scales,
        w2_scale=w2.scales, smooth=smooth, ids=routing.ids, id_weights=routing.id_weights,
        block_experts=routing.block_experts, model=model, inter=inter, tokens=problem.tokens, experts=experts,
        stride_x=model * size, stride_w1=model * size, stride_w2=inter * size, stride_out=model * form.out.itemsize,
        expert_w1=w1.expert_bytes, expert_w2=w2.expert_bytes, expert_w1_scale=w1.expert_scale_bytes,
        expert_w2_scale=w2.expert_scale_bytes, expert_smooth=4 * inter, choices=problem.choices,
        groups=persistent, groups_per_block=problem.splits,
    )  # fmt: skip
    exact, bound = _experts(form, problem, routing, x.exact, w1, w2, smooth)
    sorted_ids = (routing.valid, routing.ids, routing.id_weights, routing.block_experts)
    optional = (x.scales, w1.scales, w2.scales, smooth)
    inputs = (x.values, w1.laid, w2.laid, *sorted_ids, *(one for one in optional if one is not None))
    grid = (_PERSISTENT, 1, 1) if form.persistent else (problem.splits, routing.blocks, 1)
    return Launch(grid, _THREADS, arguments.pack(), inputs, (Output("out", out, exact, bound, zeroed=True),))


def _input(form: _Form, problem: Problem, routing: Routing, generator: np.random.Generator) -> Quantized:
    """[token, in], or [choice, token, in] where every choice has its own."""
    values = generator.standard_normal((problem.tokens, problem.model), np.float32)
    if form.blocks:
        return rows_in_blocks(values, form.operand)
    if form.smooth:
        scales = generator.uniform(0.5, 1.5, (problem.experts, problem.model)).astype(np.float32)
        values = np.ascontiguousarray(values * scales[routing.experts].transpose(1, 0, 2))
    return quantized(values, form.operand)


def _experts(
    form: _Form,
    problem: Problem,
    routing: Routing,
    x: Float,
    w1: Weights,
    w2: Weights,
    smooth: NDArray[np.float32] | None,
) -> tuple[Float, Float]:
    """The definition in double precision, and its bound: the inner rounding as random numbers, the additions' sure."""
    inter = w2.exact.shape[2]
    exact, variance, added = (np.zeros((problem.tokens, problem.model)) for _ in range(3))
    pieces = BLOCK if form.blocks else form.columns
    for (token, choice), expert in np.ndenumerate(routing.experts):
        weight = float(routing.weights[token, choice])
        row = x[choice, token] if form.smooth else x[token]
        first = w1.exact[expert] @ (row * (weight if form.weighted_input else 1.0))
        inner = activated(first[:inter], form.activation)
        if form.gated:
            inner = inner * first[inter:]
        if smooth is not None:
            inner = inner * smooth[expert]
        weight = 1.0 if form.weighted_input else weight
        exact[token] += weight * (w2.exact[expert] @ inner)
        of_inner = deviation(inner.reshape(-1, pieces), form.operand).reshape(-1)
        variance[token] += weight**2 * (w2.exact[expert] ** 2 @ of_inner**2)
        parts = (w2.exact[expert] * inner).reshape(problem.model, problem.splits, -1).sum(2)
        added[token] += weight * np.abs(parts).sum(1)
    additions = 1 + problem.choices * problem.splits
    approximate = 0.004  # of the activation: exp, reciprocal and tanh forms
    bound = DEVIATIONS * np.sqrt(variance) + (additions * to_float16(form.out) + approximate) * added
    return exact, bound + approximate * np.abs(added).max()


def _files(wheel: Wheel) -> tuple[KernelFile, ...]:
    """Those of the host's tables: per-token kernels that skip stores (vs) and block scales; fmoe_b16 and fmoe_f16.

    Not atm_opt and smf, whose inputs are laid otherwise, and not tkw1 of int8, which nothing launches.
    """
    found: list[KernelFile] = []
    for arch in ("gfx942", "gfx950"):
        folders = (wheel.files(arch, f"fmoe/{activation}") for activation in ("silu", "gelu"))
        found += [file for files in folders for file in files if _NAME.match(file.stem) and _in_tables(file.stem)]
    return (*found, *(file for file in wheel.files("gfx942", start="fmoe_") if _OLD_BF16.match(file.stem)))


def _in_tables(stem: str) -> bool:
    if "_blockscaleFp8_" in stem:
        return "vs_" in stem
    return "_vs_" in stem and not any(one in stem for one in ("_atm_", "_smf_", "Int8_g1u1_vs_tkw1"))


KIND = Kind("fmoe", "mixture of experts, both layers in one kernel", _files, _problems, _prepare, _edges)
