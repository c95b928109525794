"""Operands at several places, so that calls in turn find them cold: copies of their memory, and arguments that point
there."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ckgen.fuzz.operation import Given
from ckgen.measure.timing import copies_beyond_cache, last_level_cache
from ckgen.runtime.functions import Args

_WORD = 8


@dataclass(frozen=True, slots=True)
class Placing:
    """Arguments of one set of operands, and what must live as long as they are used."""

    args: Args
    kept: object


def bytes_of(given: Given) -> int:
    """Of all operands."""
    return sum(one.strides.batch * one.strides.lines * one.strides.length for one in given.matrices())


def sets_by_bytes(size: int, cache: int) -> int:
    """One where operands stay in a cache of so many bytes, half of which is theirs; else so many that none is ever
    found there."""
    return copies_beyond_cache(size, cache) if size > cache // 2 else 1


def placings(given: Given, count: int) -> list[Placing]:
    """The operands themselves and `count` - 1 copies; what is told of groups is copied with them."""
    found = [Placing(given.args, given)]
    for _ in range(count - 1):
        copies = [(one, one.copy()) for one in given.matrices()]
        found.append(moved(given.args, {one.address: copy.address for one, copy in copies}, [c for _, c in copies]))
    return found


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
