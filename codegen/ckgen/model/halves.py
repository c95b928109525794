"""What was timed in several rounds, judged by halves: noise that makes something the best is not in its price."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Halves(Generic[T]):
    """Microseconds by the odd rounds and by the even ones; `even` is empty where there was one round."""

    odd: Mapping[T, float] = field(default_factory=dict)
    even: Mapping[T, float] = field(default_factory=dict)

    def regret(self, chosen: Iterable[T]) -> float | None:
        """The time of what is chosen over the best: the geometric mean of two ways, in which one half says which is the
        best, and the fastest of `chosen`, and the other what both cost. None where it does not."""
        every = list(chosen)
        return _mean(
            price[fastest(choose, every)] / price[fastest(choose, price)]
            for choose, price in self._ways()
            if any(one in choose and one in price for one in every)
        )

    @property
    def floor(self) -> float | None:
        """What the best of a half loses to that of the half that prices both: what noise leaves of a regret. None where
        there was one round."""
        return _mean(price[fastest(choose, price)] / min(price.values()) for choose, price in self._ways())

    @property
    def are_agreed(self) -> bool:
        """Whether both name one best."""
        return len({fastest(choose, price) for choose, price in self._ways()}) == 1

    def _ways(self) -> Iterator[tuple[Mapping[T, float], Mapping[T, float]]]:
        """What chooses, and what prices; of what both have."""
        both = self.odd.keys() & self.even.keys()
        odd, even = ({one: times[one] for one in times if one in both} for times in (self.odd, self.even))
        return iter(((odd, even), (even, odd)) if both else ())


def fastest(times: Mapping[T, float], of: Iterable[T]) -> T:
    """Of these, of which one at least was timed; the first of equal ones."""
    return min((one for one in of if one in times), key=times.__getitem__)


def _mean(ratios: Iterable[float]) -> float | None:
    """The geometric one, of both ways."""
    both = list(ratios)
    return math.sqrt(math.prod(both)) if len(both) == 2 else None
