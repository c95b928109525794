"""Factors of single kernels where losers' times are known: what each has of the constants of its main loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from ckgen.families.gemm.predicted.gpu_time import GpuConstants, Own
from ckgen.families.gemm.predicted.gpu_work import kernel_of
from ckgen.predict.arrays import Weighed

if TYPE_CHECKING:
    import numpy.typing as npt

_DECIDES = 2.0
"""A kernel that takes more times as long as the row's fastest decides nothing."""
_LEAST_TIMES = 12
"""Of fewer times no factor is told."""
_DRAWN = 0.1
"""How strongly each logarithm of a factor is drawn to none, against that of one row's time."""
_SOFT = 0.1
_DIGITS = 4


def with_own_factors(
    sets: Sequence[Weighed], held: frozenset[tuple[int, int]], constants: GpuConstants
) -> GpuConstants:
    """The constants with factors of each kernel, of its unsplit times on rows that are not held out.

    A time counts the less the further it is behind the row's fastest.
    """
    own: dict[str, Own] = {}
    for word in sorted({kernel_of(one.config) for each in sets for one, _ in each.found.candidates}):
        times = [found for each in sets if (found := _times_of(each, word, held)) is not None]
        if sum(len(one.rows) for one in times) >= _LEAST_TIMES:
            own[word] = _fitted(word, times, constants)
    return replace(constants, own=own)


@dataclass(frozen=True, slots=True)
class _Times:
    """Of the candidate in a column of a set: the rows, the logarithms of what it took, and how much each counts."""

    found: Weighed
    column: int
    rows: npt.NDArray[Any]
    logs: npt.NDArray[Any]
    weights: npt.NDArray[Any]

    def errors(self, constants: GpuConstants) -> npt.NDArray[Any]:
        import numpy as np

        predicted = self.found.of_candidate(self.column, self.rows, constants)
        return np.asarray(self.weights * (np.log(predicted) - self.logs))


def _times_of(one: Weighed, word: str, held: frozenset[tuple[int, int]]) -> _Times | None:
    import numpy as np

    columns = [at for at, (kernel, k_batch) in enumerate(one.found.candidates)
               if k_batch == 1 and kernel_of(kernel.config) == word]  # fmt: skip
    if not columns or one.works[columns[0]] is None:
        return None
    took = one.took[:, columns[0]]
    behind = took / one.fastest
    free = np.array([(row.shape.n, row.shape.k) not in held for row in one.found.rows])
    rows = np.nonzero(free & (behind <= _DECIDES))[0]
    return _Times(one, columns[0], rows, np.log(took[rows]), behind[rows] ** -2)


def _fitted(word: str, times: Sequence[_Times], constants: GpuConstants) -> Own:
    import numpy as np
    from scipy.optimize import least_squares  # type: ignore[import-untyped]

    names = [one.name for one in fields(Own)]

    def read(values: npt.NDArray[Any]) -> Own:
        return Own(**{name: float(f"{np.exp(x):.{_DIGITS}g}") for name, x in zip(names, values, strict=True)})

    def errors(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        own = Own(*np.exp(values).tolist())
        asked = replace(constants, own={word: own})
        return np.concatenate([*(one.errors(asked) for one in times), _DRAWN * values])

    solve: Callable[..., Any] = least_squares
    found = solve(errors, np.zeros(len(names)), loss="soft_l1", f_scale=_SOFT, max_nfev=30, diff_step=1e-3)
    return read(found.x)
