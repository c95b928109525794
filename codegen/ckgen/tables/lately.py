"""What was made lately, by all that it was made of."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")


class Lately(Generic[T]):
    """The last `most` answers. Threads may ask at once; what they make is the same."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: dict[Hashable, T] = {}
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """What was made for an equal key, or what is made now."""
        with self._lock:
            found = self._known.pop(key, None)
        if found is None:
            found = make()
        with self._lock:
            self._known[key] = found
            while len(self._known) > self._most:
                del self._known[next(iter(self._known))]
        return found
