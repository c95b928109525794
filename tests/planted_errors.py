"""Errors that a checker of GEMMs must report: wrong results, computed from the definition alone.

Of one problem: a part of K dropped, a K step dropped, a tile of C zero, one sign flipped, C x 1.004, scales of two
neighbours swapped, one element wrong by its last bit or, where several results are right, by four times the bound of
its tile's largest element.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from ckgen.families.common.comparison import Expected
from ckgen.families.common.storage import SIGNIFICAND_BITS, Storage, Values, decode, encode
from ckgen.families.gemm.reference import Operands, expect
from ckgen.model.dtype import DType

TILE = 16
K_STEP = 64
PLACES = 8


@dataclass(frozen=True, slots=True)
class Planted:
    """A wrong C, as it is stored."""

    error: str
    c: Storage


def unreported(
    operands: Operands, expected: Expected, is_right: Callable[[Storage], bool], parts: int = 1
) -> list[str]:
    """The planted errors that the checker takes for right; and 'nothing', if it takes the right result for wrong."""
    right = encode(expected.c, operands.signature.c)
    missed = [one.error for one in planted_errors(operands, expected, parts) if is_right(one.c)]
    return missed if is_right(right) else [*missed, "nothing"]


def planted_errors(operands: Operands, expected: Expected, parts: int = 1) -> Iterator[Planted]:
    """One of each kind that the problem can have; where a kind has a place, it is drawn."""
    random, signature, right = np.random.default_rng(11), operands.signature, expected.c
    plain = expect(operands).c
    k = operands.a.shape[-1]
    step, part = min(K_STEP, k), -(-k // parts)

    def without_a_step() -> Operands:
        drawn = int(random.integers(0, k - step + 1))
        return _without(operands, slice(drawn, drawn + step))

    changes: dict[str, Callable[[], Operands | None]] = {"a K step dropped": without_a_step}
    if parts > 1:
        changes["a part dropped"] = lambda: _without(operands, slice(part, 2 * part))
    for name in ("a_scale", "b_scale"):
        changes[f"neighbours of {name} swapped"] = lambda name=name: _with_swapped(operands, name, random)  # type: ignore[misc]
    for error, change in changes.items():
        yield from _first_that_matters(error, encode(plain, signature.c), change)

    tile = right.copy()
    top, left = (int(random.integers(0, -(-size // TILE))) * TILE for size in right.shape[1:])
    tile[0, top : top + TILE, left : left + TILE] = 0
    larger = _larger_right(expected, signature.c) * 1.004
    larger = np.rint(larger) if signature.c is DType.INT32 else larger
    at = _large_element(expected, random)
    flipped = right.copy()
    flipped[at] = -flipped[at]
    stored = encode(right, signature.c)
    of_all = (("C x 1.004", larger),) if _is_worth_a_factor(operands, plain, right) else ()
    for error, wrong in (("a tile of zeros", tile), *of_all, ("a sign flipped", flipped)):
        if ((c := encode(wrong, signature.c)) != stored).any():  # some zeros and small integers stay what they are
            yield Planted(error, c)
    yield Planted("one element wrong", _one_wrong(expected, at, signature.c))


def _is_worth_a_factor(operands: Operands, plain: Values, right: Values) -> bool:
    """Not where an epilogue leaves next to nothing of every sum: its own rounding is larger than a factor of that."""
    signature = operands.signature
    sums = expect(replace(operands, signature=replace(signature, epilogue=()))).c if signature.epilogue else plain
    return bool(np.abs(right).max(initial=0.0) >= 2.0**-10 * np.abs(sums).max(initial=0.0))


def _larger_right(expected: Expected, dtype: DType) -> Values:
    """The right result; of two neighbours of which either is right, the larger."""
    is_between = expected.bound <= np.abs(expected.c) * 2.0 ** -SIGNIFICAND_BITS.get(dtype, 53)
    return expected.c + np.where(is_between, np.sign(expected.c) * expected.bound, 0.0)


def _large_element(expected: Expected, random: np.random.Generator) -> tuple[int, ...]:
    """Any that is no smaller than most others: gelu and silu come near 0."""
    sizes = np.where(np.isfinite(expected.bound), np.abs(expected.c), 0)
    places = np.argwhere(sizes >= np.median(sizes[sizes > 0])) if sizes.any() else np.zeros((1, 3), int)
    return tuple(int(index) for index in places[random.integers(0, len(places))])


def _first_that_matters(error: str, right: Storage, change: Callable[[], Operands | None]) -> Iterator[Planted]:
    """Of a few places: in some, such as a sparse row's, the right result is the same."""
    for _ in range(PLACES):
        changed = change()
        if changed is None:
            return
        c = encode(expect(changed).c, changed.signature.c)
        if (c != right).any():
            yield Planted(error, c)
            return


def _without(operands: Operands, dropped: slice) -> Operands:
    a, a1 = operands.a.copy(), None if operands.a1 is None else operands.a1.copy()
    a[..., dropped] = 0
    if a1 is not None:
        a1[..., dropped] = 0
    return replace(operands, a=a, a1=a1)


def _with_swapped(operands: Operands, name: str, random: np.random.Generator) -> Operands | None:
    """With two neighbours along the last axis in each other's place; None if no two of them differ."""
    scales: Values | None = getattr(operands, name)
    if scales is None or scales.shape[-1] < 2:
        return None
    places = np.argwhere(scales[..., 1:] != scales[..., :-1])
    if not len(places):
        return None
    *before, at = places[random.integers(0, len(places))]
    found = scales.copy()
    found[(*before, [at, at + 1])] = found[(*before, [at + 1, at])]
    return replace(operands, **{name: found})


def _one_wrong(expected: Expected, at: tuple[int, ...], c: DType) -> Storage:
    """By its last bit where only one result is right."""
    stored = encode(expected.c, c)
    batch, row, column = at
    rows, columns = (slice(place // TILE * TILE, (place // TILE + 1) * TILE) for place in (row, column))
    of_tile = Expected(expected.c[batch, rows, columns], expected.bound[batch, rows, columns])
    largest = np.unravel_index(np.abs(of_tile.c).argmax(), of_tile.c.shape)
    by = 4 * max(of_tile.bound[largest], expected.bound[at])
    if by == 0 or not np.isfinite(by):
        bits = stored.view(f"u{stored.itemsize}")
        bits[at] ^= 1
        return stored
    wrong = decode(stored)
    wrong[at] += by
    return encode(wrong, c)
