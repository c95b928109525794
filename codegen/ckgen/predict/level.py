"""The level of a kind with few rows: how much longer all of it takes than constants of other kinds say."""

from __future__ import annotations

from collections.abc import Sequence

from ckgen.families.gemm.predicted.constants import mean_of_others
from ckgen.families.gemm.predicted.gpu_time import GpuConstants
from ckgen.predict.arrays import Weighed

LEAST = 8
"""Rows; of fewer no level is told."""


def at_their_level(sets: Sequence[Weighed], held: frozenset[tuple[int, int]]) -> GpuConstants | None:
    """The mean of other kinds, which takes as much longer as the winners of the rows that are not held out do at the
    median. None of too few rows. The order of kernels stays as it is."""
    import numpy as np

    constants = mean_of_others(*sets[0].found.kind).constants
    logs = [log for one in sets for log in _logs(one, held, constants)]
    return constants.times(float(np.exp(np.median(logs)))) if len(logs) >= LEAST else None


def _logs(one: Weighed, held: frozenset[tuple[int, int]], constants: GpuConstants) -> list[float]:
    """Of what winners took over what is predicted."""
    import numpy as np

    free = [at for at, row in enumerate(one.found.rows) if (row.shape.n, row.shape.k) not in held]
    if not free:
        return []
    rows = [one.found.rows[at] for at in free]
    won = one.some(np.array(free), np.array([row.winner for row in rows])).predicted(constants)
    return list(np.log(np.array([row.us for row in rows]) / won))
