"""Factors that rank kernels where losers' times are known: what each takes of its predicted time, on the mean."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ckgen.families.gemm.predicted.gpu_time import GpuConstants
from ckgen.families.gemm.predicted.gpu_work import kernel_of
from ckgen.predict.arrays import Weighed
from ckgen.predict.few_rows import few_rows

if TYPE_CHECKING:
    import numpy.typing as npt

_DECIDES = 2.0
"""A kernel that takes more times as long as the row's fastest decides nothing."""
_DRAWN = 3
"""How strongly a factor is drawn to none, in times that it is the mean of."""
_DIGITS = 4


def ranked_by_times(
    sets: Sequence[Weighed], held: frozenset[tuple[int, int]], constants: GpuConstants
) -> GpuConstants | None:
    """The constants with factors of kernels, of rows that are not held out; None where no loser's time is known.

    Splits of K have none: what is known of a kernel counts unsplit.
    """
    import numpy as np

    logs: dict[str, list[float]] = defaultdict(list)
    for one in sets:
        taken = np.array(few_rows(one.found.rows, held, np.random.RandomState(0)), dtype=np.int64)
        if one.lost and len(taken):
            _add(one, taken, constants, logs)
    if not logs:
        return None
    factors = {word: np.exp(sum(of) / (len(of) + _DRAWN)) for word, of in sorted(logs.items())}
    return replace(constants, kernels={word: float(f"{of:.{_DIGITS}g}") for word, of in factors.items()})


def _add(one: Weighed, taken: npt.NDArray[Any], constants: GpuConstants, logs: dict[str, list[float]]) -> None:
    import numpy as np

    took, predicted = one.took[taken], one.predicted(constants)[taken]
    counts = (took <= _DECIDES * one.fastest[taken, None]) & np.isfinite(predicted)
    for column, (instance, k_batch) in enumerate(one.found.candidates):
        if k_batch == 1:
            at = counts[:, column]
            logs[kernel_of(instance.config)] += np.log(took[at, column] / predicted[at, column]).tolist()
