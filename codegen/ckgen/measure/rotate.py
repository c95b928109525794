"""Operands at several places, so that calls in turn find them cold: copies of their memory, and arguments that point
there."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ckgen.fuzz.memory import Matrix
from ckgen.fuzz.operation import Given
from ckgen.measure.timing import copies_beyond_cache, last_level_cache
from ckgen.runtime.functions import Args

_WORD = 8


@dataclass(frozen=True, slots=True)
class Placing:
    """Arguments of one set of operands, what must live as long as they are used, and its matrices in this memory."""

    args: Args
    kept: object
    matrices: Sequence[Matrix] = ()


def bytes_of(given: Given) -> int:
    """Of all operands."""
    return sum(one.strides.batch * one.strides.lines * one.strides.length for one in given.matrices())


def sets_by_bytes(size: int, cache: int) -> int:
    """One where operands stay in a cache of so many bytes, half of which is theirs; else so many that none is ever
    found there."""
    return copies_beyond_cache(size, cache) if size > cache // 2 else 1


def placings(given: Given, count: int, beside: Sequence[Placing] = ()) -> list[Placing]:
    """The operands themselves and `count` - 1 copies; what is told of groups is copied with them.

    What these sets hold as those of `beside` do lies where it lies there: so what is timed in turns reads the same
    memory, and none takes the cache from another.
    """
    alike = [_twin(one, beside[0].matrices) for one in given.matrices()] if beside else []
    found = []
    for at in range(count):
        like = beside[at].matrices if at < len(beside) else ()
        own = list(given.matrices()) if at == 0 else None
        matrices = []
        for index, one in enumerate(given.matrices()):
            twin = alike[index] if alike else None
            if twin is not None and like:
                matrices.append(like[twin])
            else:
                matrices.append(own[index] if own is not None else one.copy())
        places = {one.address: to.address for one, to in zip(given.matrices(), matrices, strict=True)}
        places = {one: to for one, to in places.items() if one != to}
        placed = moved(given.args, places, given) if places else Placing(given.args, given)
        found.append(replace(placed, matrices=matrices))
    return found


def _twin(one: Matrix, others: Sequence[Matrix]) -> int | None:
    """Which of the others a kernel reads the same of."""
    if one.stored is None:
        return None
    for index, other in enumerate(others):
        if other.stored is not None and other.strides == one.strides and np.array_equal(other.lines, one.lines):
            return index
    return None


def moved(args: Args, places: Mapping[int, int], copies: object) -> Placing:
    """The arguments with other addresses, in the arrays that they keep too."""
    arrays: list[ctypes.Array[Any]] = []
    for array in getattr(args, "kept_arrays", ()):
        arrays.append(type(array).from_buffer_copy(_replaced(bytes(array), places)))
        places = {**places, ctypes.addressof(array): ctypes.addressof(arrays[-1])}
    made = type(args).from_buffer_copy(_replaced(bytes(args), places))
    return Placing(made, (arrays, copies))


def _replaced(stored: bytes, places: Mapping[int, int]) -> bytearray:
    """Every word that is one of the addresses, as which no size passes."""
    words = np.frombuffer(stored[: len(stored) // _WORD * _WORD], np.uint64).copy()
    for at in np.flatnonzero(np.isin(words, np.array(list(places), np.uint64))):
        words[at] = places[int(words[at])]
    return bytearray(words.tobytes() + stored[len(words) * _WORD :])


def flusher() -> Callable[[], object]:
    """What empties the caches: reads and writes twice the last level's bytes."""
    room = np.zeros(2 * last_level_cache() // _WORD, np.uint64)

    def flush() -> None:
        np.add(room, 1, out=room)

    return flush
