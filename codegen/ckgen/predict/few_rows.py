"""Few rows of many, so that no layer and no size of M outweighs the others in a fit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from ckgen.predict.measured import Won

_EACH = 3
_MOST = 900


def few_rows(rows: Sequence[Won], held: frozenset[tuple[int, int]], random: Any) -> list[int]:
    """Positions of at most three rows of each layer and half octave of M, and at most 900; none of the layers held
    out. `random`: a numpy.random.RandomState."""
    bands: dict[Any, list[int]] = defaultdict(list)
    for index, row in enumerate(rows):
        if (row.shape.n, row.shape.k) not in held:
            bands[row.layer, _half_octave(row)].append(index)
    few = [index for band in bands.values() for index in _some(band, _EACH, random)]
    return _some(few, _MOST, random)


def _half_octave(row: Won) -> int:
    return (row.shape.m * row.shape.m).bit_length()


def _some(of: Sequence[int], most: int, random: Any) -> list[int]:
    if len(of) <= most:
        return list(of)
    return sorted(int(of[index]) for index in random.choice(len(of), most, False))
