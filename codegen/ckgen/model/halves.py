"""What was timed in several rounds, judged by halves: noise that makes something the best is not in its price."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Halves(Generic[T]):
    """Microseconds by the odd rounds and by the even ones; `even` is empty where there was one round."""

    odd: Mapping[T, float] = field(default_factory=dict)
    even: Mapping[T, float] = field(default_factory=dict)

    def regret(self, chosen: Iterable[T]) -> float | None:
        """The time of what is chosen over the best: the geometric mean of two ways, in which one half says which is the
        best, and the fastest of `chosen`, and the other what both cost. None where it does not."""
        every = [one for one in chosen if one in self.odd and one in self.even]
        if not every:
            return None
        return _mean(price[fastest(choose, every)] / price[best] for choose, price, best in self._ways)

    @property
    def floor(self) -> float | None:
        """What the best of a half loses to that of the half that prices both: what noise leaves of a regret. None where
        there was one round."""
        return _mean(price[best] / min(price.values()) for _, price, best in self._ways)

    @property
    def are_agreed(self) -> bool:
        """Whether both name one best."""
        return len({best for _, _, best in self._ways}) == 1

    @cached_property
    def _ways(self) -> tuple[tuple[Mapping[T, float], Mapping[T, float], T], ...]:
        """What chooses, what prices, and the best by what chooses; of what both have."""
        both = self.odd.keys() & self.even.keys()
        odd, even = ({one: times[one] for one in times if one in both} for times in (self.odd, self.even))
        return tuple((one, other, fastest(one, one)) for one, other in ((odd, even), (even, odd)) if one)


def fastest(times: Mapping[T, float], of: Iterable[T]) -> T:
    """Of these, which were all timed; the first of equal ones."""
    return min(of, key=times.__getitem__)


def _mean(ratios: Iterable[float]) -> float | None:
    """The geometric one, of both ways."""
    both = list(ratios)
    return math.sqrt(math.prod(both)) if len(both) == 2 else None
