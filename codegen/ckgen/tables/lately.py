"""What was made lately, by all that it was made of."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")


class Lately(Generic[T]):
    """The last answers whose weights are `most` together. Threads may ask at once; what they make is the same."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: dict[Hashable, tuple[int, T]] = {}
        self._lock = Lock()

    def get(self, key: Hashable, weight: int, make: Callable[[], T]) -> T:
        """What was made for an equal key, or what is made now."""
        with self._lock:
            known = self._known.pop(key, None)
        found = known if known is not None else (weight, make())
        with self._lock:
            self._known[key] = found
            excess = 0 if known is not None else sum(one for one, _ in self._known.values()) - self._most
            while excess > 0:
                excess -= self._known.pop(next(iter(self._known)))[0]
        return found[1]
