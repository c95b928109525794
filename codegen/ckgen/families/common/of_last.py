"""What is derived of a large operand, kept as long as the same operand is asked for again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from ckgen.families.common.storage import Values

T = TypeVar("T")


class OfLast(Generic[T]):
    """Of one read-only array at a time; of others nothing is kept. Not for several threads."""

    def __init__(self) -> None:
        self._kept: tuple[Values, object, T] | None = None

    def of(self, values: Values, make: Callable[[], T], how: object = None) -> T:
        """What `make` makes of the values, in a way that `how` tells."""
        if values.flags.writeable:
            return make()
        if self._kept is None or self._kept[0] is not values or self._kept[1] != how:
            self._kept = None  # its memory may be wanted for the next
            self._kept = values, how, make()
        return self._kept[2]
