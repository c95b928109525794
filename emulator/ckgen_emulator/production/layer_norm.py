"""Norm of a sum: residual_out = x = input + residual_in, out = x / sqrt(mean of x² + epsilon) · weight + bias.

That is what the kernels compute: they are called layer_norm and sum x up, but take no mean off it. The host's side is
asm_layernorm.cu: bf16, rows of 8192, an even number of them, two per workgroup; conversions truncate. layer_norm_qnt
gives int8 instead: of y = norm · x_scale[column] the row's largest magnitude / 127 as y_scale, and y / y_scale.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ckgen_emulator.production.model import Kind, Launch, Output
from ckgen_emulator.production.numbers import BF16, TO_BF16, normal, wide
from ckgen_emulator.production.slots import F32, U32, Arguments, Pointer
from ckgen_emulator.production.wheel import KernelFile, Wheel

_THREADS = 256
_ROWS = 2
_COLUMNS = 8192
_EPSILON = 1e-5
_TRUNCATED = 2 * TO_BF16
_RELATIVE = 1e-5
"""Of the sums over a row, rsq and a few operations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NormArguments(Arguments):
    """The last two only for layer_norm_qnt."""

    out: Pointer = None
    input: Pointer = None
    weight: Pointer = None
    bias: Pointer = None
    epsilon: F32 = 0
    rows: U32 = 0
    columns: U32 = 0
    residual_out: Pointer = None
    residual_in: Pointer = None
    y_scale: Pointer = None
    x_scale: Pointer = None


@dataclass(frozen=True, slots=True)
class Problem:
    """Rows and their elements."""

    rows: int
    columns: int = _COLUMNS


def _files(wheel: Wheel) -> tuple[KernelFile, ...]:
    return wheel.files("gfx942", start="layer_norm")


def _problems(file: KernelFile) -> Mapping[str, Problem]:
    return {"group": Problem(_ROWS), "groups": Problem(2 * _ROWS)}


def _edges(file: KernelFile) -> Mapping[str, Problem]:
    """The host code asks columns of 8192, and rounds pairs of rows up."""
    return {
        "1 row": Problem(1),
        "2 rows": Problem(2),
        "3 rows": Problem(3),
        "columns 8192 less 8": Problem(2, _COLUMNS - 8),
        "columns 8192 and 8": Problem(2, _COLUMNS + 8),
    }


def _prepare(file: KernelFile, problem: Problem, generator: np.random.Generator) -> Launch:
    shape, row = (problem.rows, problem.columns), (1, problem.columns)
    values, residual = normal(generator, shape, BF16), normal(generator, shape, BF16)
    weight, bias = normal(generator, row, BF16), normal(generator, row, BF16)
    x_scale = generator.uniform(0.5, 2, row).astype(np.float32)
    quantized = file.stem.endswith("_qnt")
    out, residual_out = np.empty(shape, np.int8 if quantized else BF16), np.empty(shape, BF16)
    y_scale = np.empty((problem.rows, 1), np.float32)
    arguments = NormArguments(
        out=out, input=values, weight=weight, bias=bias, epsilon=_EPSILON, rows=problem.rows, columns=problem.columns,
        residual_out=residual_out, residual_in=residual, y_scale=y_scale, x_scale=x_scale,
    )  # fmt: skip
    total = wide(values) + wide(residual)
    scaled = total / np.sqrt((total**2).mean(1, keepdims=True) + _EPSILON) * wide(weight)
    norm = scaled + wide(bias)
    residual_expected = Output("residual_out", residual_out, total, 1.01 * _TRUNCATED * np.abs(total))
    inputs, grid = (values, residual, weight, bias), (-(-problem.rows // _ROWS), 1, 1)
    if not quantized:
        bound = 1.01 * _TRUNCATED * np.abs(norm) + _RELATIVE * (np.abs(scaled) + np.abs(wide(bias)))
        outputs: tuple[Output, ...] = (Output("out", out, norm, bound), residual_expected)
        return Launch(grid, _THREADS, arguments.pack(), inputs, outputs)
    y = norm * wide(x_scale)
    scale = np.abs(y).max(1, keepdims=True) / 127
    outputs = (
        Output("out", out, y / scale, 1 + 1e-3),
        Output("y_scale", y_scale, scale, _RELATIVE * np.abs(scale)),
        residual_expected,
    )
    return Launch(grid, _THREADS, arguments.pack(), (*inputs, x_scale), outputs)


KIND = Kind("layernorm", "norm of a sum, bf16 or int8 result", _files, _problems, _prepare, _edges)
