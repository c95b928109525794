"""What attention gives where something is wrong on purpose, in float64, rounded to the types that are stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ckgen.families.elements import Values, encode
from ckgen.families.fmha.mask import FmhaMask
from ckgen.families.fmha.operands import FmhaOperands
from ckgen.families.fmha.scores import scores_of, value_descales

Bools = npt.NDArray[np.bool_]
TILE = 16


@dataclass(frozen=True)
class Stored:
    """O [batch, rows, heads_q, hdim_v] and lse [batch, heads_q, rows]; zeros behind a sequence's length."""

    o: npt.NDArray[np.generic]
    lse: npt.NDArray[np.generic]

    def same(self, other: Stored) -> bool:
        """Bit for bit where numbers differ at all."""
        return np.array_equal(self.o, other.o) and np.array_equal(self.lse, other.lse)


def attention(operands: FmhaOperands, seen: Callable[[Bools], Bools] = lambda visible: visible) -> Stored:
    """By the definition; `seen` changes what is visible of [length_q, length_k]."""
    shape, dropout = operands.shape, operands.dropout
    o = np.zeros((shape.batch, shape.seqlen_q, shape.heads_q, shape.hdim_v))
    lse = np.zeros((shape.batch, shape.heads_q, shape.seqlen_q))
    mask = FmhaMask.of(shape, operands.signature.traits.masked)
    for b, (queries, keys) in enumerate(zip(operands.lengths.q, operands.lengths.k, strict=True)):
        visible = seen(mask.over(queries, keys).array())
        for h in range(shape.heads_q):
            scores = scores_of(operands, b, h, visible)
            with np.errstate(all="ignore"):
                top = np.maximum(scores.exact.max(axis=1, initial=-np.inf), scores.sink)[:, None]
                raised = np.where(visible, np.exp(scores.exact - top), 0.0)
                total = raised.sum(axis=1, keepdims=True) + np.exp(scores.sink - top)
                lse[b, h, :queries] = (top + np.log(total))[:, 0]
                weights = np.where(np.isfinite(top), raised / total, 0.0)
            lse[b, h, :queries] = np.where(np.isfinite(top[:, 0]), lse[b, h, :queries], -np.inf)
            if dropout is not None:
                weights = weights * dropout.keeps(b, h, shape.heads_q, (queries, keys)) * dropout.factor
            v = operands.v[b, :keys, h // (shape.heads_q // shape.heads_k)] * value_descales(operands, b, h)
            o[b, :queries, h] = weights @ v
    return Stored(encode(o, operands.signature.c), lse.astype(np.float32))


def planted(operands: FmhaOperands) -> Iterator[tuple[str, Stored]]:
    """Wrong results by what is wrong; few of them are right after all."""
    yield from _of_keys(operands)
    yield from _of_result(operands)
    yield from _of_descales(operands)
    if operands.shape.heads_k > 1:
        yield "keys are another head's", attention(replace(operands, k=np.roll(operands.k, 1, axis=2)))
        yield "values are another head's", attention(replace(operands, v=np.roll(operands.v, 1, axis=2)))
    if _seen(operands).sum() > max(operands.lengths.q):
        dims = min(TILE, max(operands.shape.hdim_q // 2, 1))
        yield "a step of the head is dropped", attention(replace(operands, q=_zeroed(operands.q, dims)))


def _of_keys(operands: FmhaOperands) -> Iterator[tuple[str, Stored]]:
    """Where some rows see these keys, and others."""
    shape, keys = operands.shape, max(operands.lengths.k)
    parts = {
        "a split is dropped": lambda keys: slice(keys // 2, keys),
        "a tile of keys is dropped": lambda keys: slice(keys // 3, keys // 3 + TILE),
        "the last key is dropped": lambda keys: slice(max(keys - 1, 0), keys),
    }
    for what, part in parts.items():
        if _seen(operands)[:, part(keys)].any():
            yield what, attention(operands, _without(part))
    for side in ("window_left", "window_right"):
        if operands.signature.traits.masked and 0 <= getattr(shape, side) < 1 << 20:
            wider = replace(operands, shape=replace(shape, **{side: getattr(shape, side) + 1}))
            if not np.array_equal(_seen(wider), _seen(operands)):
                yield f"{side} is one more", attention(wider)


def _of_result(operands: FmhaOperands) -> Iterator[tuple[str, Stored]]:
    right, c = attention(operands), operands.signature.c
    exact = np.asarray(right.o, np.float64)
    places = np.argwhere(exact)
    if not len(places):
        return
    one = tuple(places[len(places) // 2])
    b, row, h, _ = one
    for what, at in (
        ("a tile is zero", (b, slice(row // TILE * TILE, (row // TILE + 1) * TILE), h, slice(TILE))),
        ("a head is missing", (slice(None), slice(None), h)),
    ):
        o = right.o.copy()
        o[at] = 0
        yield what, replace(right, o=o)
    flipped = exact.copy()
    flipped[one] = -flipped[one]
    yield "a sign is flipped", replace(right, o=encode(flipped, c))
    yield "all is 1.004 times as much", replace(right, o=encode(1.004 * exact, c))


def _of_descales(operands: FmhaOperands) -> Iterator[tuple[str, Stored]]:
    """Neighbours that one sequence has both."""
    b = int(np.argmax(operands.lengths.k))
    for name in ("q", "k", "v"):
        scales: Values | None = getattr(operands.descales, name)
        if scales is None or scales.size < 2 or _seen(operands).sum() <= max(operands.lengths.q):
            continue
        swapped = scales.copy()
        if swapped.ndim == 2:
            first, second = (*operands.pages[b], None, None)[:2]
            if second is None:
                continue
            swapped[[first, second]] = swapped[[second, first]]
        elif swapped.shape[-1] > 1:
            swapped[b, :, [0, 1]] = swapped[b, :, [1, 0]]
        else:
            continue
        if not np.array_equal(swapped, scales):
            descales = replace(operands.descales, **{name: swapped})
            yield f"two descales of {name} are swapped", attention(replace(operands, descales=descales))


def _seen(operands: FmhaOperands) -> Bools:
    """By the rows of the longest sequence."""
    b = int(np.argmax([q * k for q, k in zip(operands.lengths.q, operands.lengths.k, strict=True)]))
    mask = FmhaMask.of(operands.shape, operands.signature.traits.masked)
    found: Bools = mask.over(operands.lengths.q[b], operands.lengths.k[b]).array()
    return found


def _without(part: Callable[[int], slice]) -> Callable[[Bools], Bools]:
    def seen(visible: Bools) -> Bools:
        found = visible.copy()
        found[:, part(visible.shape[1])] = False
        return found

    return seen


def _zeroed(q: Values, dims: int) -> Values:
    found = q.copy()
    found[..., -dims:] = 0
    return found
