"""What is computed when it is first asked for, and kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Once(Generic[T]):
    """One value, or none yet. Not for several threads."""

    def __init__(self) -> None:
        self._kept: list[T] = []

    @property
    def known(self) -> T | None:
        """The value, None where there is none."""
        return self._kept[0] if self._kept else None

    def of(self, make: Callable[[], T]) -> T:
        """The value, made now if there is none."""
        if not self._kept:
            self._kept.append(make())
        return self._kept[0]
