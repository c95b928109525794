"""Scores of one sequence and query head, with the bound that `reference` derives, and their operands' descales."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ckgen.families.elements import Values
from ckgen.families.fmha.enums import FmhaBias, FmhaQuant
from ckgen.families.fmha.operands import SCALE_ROWS, FmhaOperands

FAITHFUL = 2.0**-23


@dataclass(frozen=True, slots=True)
class Scores:
    """[length_q, length_k] with -infinity where not visible; `sink` is the logit beside them, -infinity for none."""

    exact: Values
    bound: Values
    visible: npt.NDArray[np.bool_]
    sink: float


def scores_of(operands: FmhaOperands, b: int, h: int, visible: npt.NDArray[np.bool_]) -> Scores:
    """Scores after softcap and bias."""
    u, shape = FAITHFUL, operands.shape
    queries, keys = visible.shape
    q, k = operands.q[b, :queries, h], operands.k[b, :keys, _kv_head(operands, h)]
    factor = np.abs(operands.scale) * query_descales(operands, b, h) * key_descales(operands, b, h).T
    exact = np.sign(operands.scale) * factor * (q @ k.T)
    bound = (shape.hdim_q + 8) * u * factor * (np.abs(q) @ np.abs(k).T)
    if operands.is_exact:  # every partial sum is a small multiple of one power of two
        bound = 8 * u * np.abs(exact)
    if operands.signature.traits.softcap:
        exact = operands.softcap * np.tanh(exact / operands.softcap)
        if operands.is_exact:  # saturated, whatever the errors before
            bound = np.full_like(exact, 8 * u * operands.softcap)
        else:
            bound = bound + 16 * u * operands.softcap + 4 * u * np.abs(exact)
    added = _added(operands, b, h, visible.shape)
    if added is not None:
        steps = 3 if operands.signature.traits.bias is FmhaBias.ALIBI else 0
        bound = bound + u * (np.abs(exact) + np.abs(added)) + steps * u * np.abs(added)
        exact = exact + added
    sink = -np.inf if operands.sink is None else float(operands.sink[h])
    return Scores(np.where(visible, exact, -np.inf), np.where(visible, bound, 0.0), visible, sink)


def query_descales(operands: FmhaOperands, b: int, h: int) -> Values:
    """[length_q, 1]: what each row of Q is multiplied by."""
    length, of_q = operands.lengths.q[b], operands.descales.q
    if of_q is None:
        return np.ones((length, 1))
    if operands.signature.traits.quant is FmhaQuant.BLOCKSCALE:
        return np.repeat(of_q[b, h], SCALE_ROWS)[:length, None]
    return np.full((length, 1), of_q[0])


def key_descales(operands: FmhaOperands, b: int, h: int) -> Values:
    """[length_k, 1]: what each row of K is multiplied by."""
    return _kv_descales(operands, operands.descales.k, b, _kv_head(operands, h))


def value_descales(operands: FmhaOperands, b: int, h: int) -> Values:
    """[length_k, 1]: what each row of V is multiplied by."""
    return _kv_descales(operands, operands.descales.v, b, _kv_head(operands, h))


def _kv_head(operands: FmhaOperands, h: int) -> int:
    return h // (operands.shape.heads_q // operands.shape.heads_k)


def _kv_descales(operands: FmhaOperands, scales: Values | None, b: int, g: int) -> Values:
    length = operands.lengths.k[b]
    if scales is None:
        return np.ones((length, 1))
    match operands.signature.traits.quant:
        case FmhaQuant.BLOCKSCALE:
            return np.repeat(scales[b, g], SCALE_ROWS)[:length, None]
        case FmhaQuant.KV_BLOCKSCALE:
            of_pages = scales[list(operands.pages[b]), g]
            return np.repeat(of_pages, operands.shape.page_size)[:length, None]
    return np.full((length, 1), scales[0])


def _added(operands: FmhaOperands, b: int, h: int, sizes: tuple[int, ...]) -> Values | None:
    """What the bias adds, [length_q, length_k]."""
    bias = operands.bias
    if bias is None:
        return None
    of_head = bias[b if bias.shape[0] > 1 else 0, h if bias.shape[1] > 1 else 0]
    queries, keys = sizes
    if operands.signature.traits.bias is FmhaBias.ELEMENTWISE:
        whole: Values = of_head[:queries, :keys]
        return whole
    i, j = np.ogrid[:queries, :keys]
    distances: Values = -of_head * np.abs(i + keys - queries - j)
    return distances
