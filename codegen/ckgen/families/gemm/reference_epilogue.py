"""What an epilogue makes of exact sums, in float64, and how far an fp32 kernel may be from that.

A step's error is what its input's error becomes and what its own evaluation adds: fp32 operations, each faithful to
2^-23. gelu and silu are x / (1 + e^-v): their slopes stay below 1.13, and evaluated with an e^-v within 2^-22 they
are within 2^-21 |x|, as |v| e^v / (1 + e^v)^2 < 0.23 (docs/epilogues.md derives both).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from ckgen.families.gemm.enums import EpilogueOp

Values = npt.NDArray[np.float64]

_FAITHFUL = 2.0**-23
_STEEPEST = 1.13
_GATED = 2.0**-21


def after_epilogue(
    ops: Sequence[EpilogueOp], d: Sequence[Values], alpha: float, exact: Values, bound: Values
) -> tuple[Values, Values]:
    """The exact result and its bound, from those of the sums; `d` are the D tensors, of shapes that broadcast."""
    tensors = iter(d)
    for op in ops:
        exact, bound = _step(op, tensors, alpha, exact, bound)
    return exact, bound


def keeps_integers(ops: Sequence[EpilogueOp]) -> bool:
    """Whether integers stay integers."""
    return not {EpilogueOp.GELU, EpilogueOp.SILU} & set(ops)


def _step(op: EpilogueOp, d: Iterator[Values], alpha: float, x: Values, bound: Values) -> tuple[Values, Values]:
    match op:
        case EpilogueOp.ADD:
            total = x + next(d)
            return total, bound + (np.abs(total) + bound) * _FAITHFUL
        case EpilogueOp.MUL | EpilogueOp.SCALE:
            factor: Values = next(d) if op is EpilogueOp.MUL else np.full((1, 1, 1), alpha)
            grown = bound * np.abs(factor)
            return x * factor, grown + (np.abs(x * factor) + grown) * _FAITHFUL
        case EpilogueOp.RELU:
            return np.maximum(x, 0.0), bound
        case EpilogueOp.GELU:
            found = _gated(x, 2 * np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))
        case EpilogueOp.SILU:
            found = _gated(x, x)
    return found, bound * _STEEPEST + (np.abs(x) + bound) * _GATED


def _gated(x: Values, v: Values) -> Values:
    with np.errstate(over="ignore"):
        found: Values = x / (1 + np.exp(-v))
    return found
