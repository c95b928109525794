"""The words that profiles have for fields, and which of several kernels others replace."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from types import NoneType
from typing import Any, get_args

from ckgen.model.fields import hints_of


def word_of(value: Any) -> str:
    """A field's value as profiles write it: `true`, `false`, `none`, a Word's text; texts of tuples joined by `_`."""
    if value is None or value == ():
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    return "_".join(map(word_of, value)) if isinstance(value, tuple) else str(value)


def legal_words(kind: type, field: str) -> tuple[str, ...] | None:
    """The words that a dataclass's field may have; None where they are not a list."""
    hint = hints_of(kind)[field]
    words: list[str] = []
    for one in get_args(hint) or (hint,):
        values = _values_of(one)
        if not values:
            return None
        words += map(word_of, values)
    return tuple(words)


def irreplaceable(count: int, replaces: Callable[[int, int], bool]) -> tuple[int, ...]:
    """Of so many, those that no other one replaces; of two that replace each other the first."""

    def gives_way(at: int, other: int) -> bool:
        return other != at and replaces(other, at) and (other < at or not replaces(at, other))

    return tuple(at for at in range(count) if not any(gives_way(at, other) for other in range(count)))


def _values_of(kind: Any) -> list[Any]:
    if kind is bool or kind is NoneType:
        return [True, False] if kind is bool else [None]
    return list(kind) if isinstance(kind, type) and issubclass(kind, Enum) else []
