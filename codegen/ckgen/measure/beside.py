"""Samples beside a yardstick's: what lasts longer than they do, such as a neighbour of the caches, is in no ratio."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field

_DISTURBED = 1.0
"""Of a sample on the edge of a phase, as if its threads had waited all the time for a CPU."""

Take = Callable[[str], tuple[float, float]]
"""A sample of a body: the part of its time that threads waited for a CPU, and seconds of one call."""


@dataclass(slots=True)
class Beside:
    """Takes each sample between two of the body that is named. Where these differ by more than the part `edge`, a phase
    began or ended between them, and the sample counts as disturbed; 0: none does."""

    sample: Take
    yardstick: str
    edge: float
    _levels: list[float] = field(default_factory=list)

    def take(self, name: str) -> tuple[float, float]:
        """As `sample`, in units of the yardstick's seconds."""
        if not self._levels:
            self._levels.append(self.sample(self.yardstick)[1])
        before, (waited, seconds) = self._levels[-1], self.sample(name)
        after = self.sample(self.yardstick)[1]
        self._levels.append(after)
        is_edge = self.edge and abs(math.log(after / before)) > math.log1p(self.edge)
        return _DISTURBED if is_edge else waited, seconds / math.sqrt(before * after)

    @property
    def level(self) -> float:
        """Seconds of the yardstick in all samples: the median."""
        return statistics.median(self._levels)
