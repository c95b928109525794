"""Hashes of frozen dataclasses that are keys again and again: computed once for each object."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T", bound="HashOnce")


class HashOnce:
    """Base of such classes: where `hash_once` keeps an object's hash, which is no field and is never pickled."""

    __slots__ = ("_hash",)
    _hash: int


def hash_once(cls: type[T]) -> type[T]:
    """Decorates a frozen dataclass; the hash stays the one of its fields."""
    of_fields = cls.__hash__

    def of_object(self: T) -> int:
        try:
            return self._hash
        except AttributeError:
            object.__setattr__(self, "_hash", found := of_fields(self))
            return found

    cls.__hash__ = of_object  # type: ignore[assignment, method-assign]
    return cls
