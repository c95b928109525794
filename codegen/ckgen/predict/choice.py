"""Factors that rank kernels: how often each one is a table's winner, beyond what its predicted time tells.

A conditional logit (McFadden, Conditional Logit Analysis of Qualitative Choice Behavior, 1974): of the candidates that
can run, one is the winner with a chance that goes as time^-b · w, where w is of the kernel and of its splits of K. Its
factor is then w^(-1/b). The times stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ckgen.families.gemm.predicted.gpu_time import GpuConstants
from ckgen.families.gemm.predicted.gpu_work import kernel_of
from ckgen.predict.arrays import Weighed
from ckgen.predict.few_rows import few_rows

if TYPE_CHECKING:
    import numpy.typing as npt

_DRAWN = 0.3
"""How strongly each log w is drawn to none: this times its square, against the logarithm of one row's chance."""
_START = 5.0
_LEAST = 1.0
_DIGITS = 4


def ranked(sets: Sequence[Weighed], held: frozenset[tuple[int, int]], constants: GpuConstants) -> GpuConstants:
    """The constants with factors of kernels and splits, fitted to the rows of sets of one kind that are not held out.

    Every kernel that can run a row counts as beaten by its winner: also one that the table did not try.
    """
    import numpy as np
    from scipy.optimize import minimize  # type: ignore[import-untyped]

    kernels = sorted({kernel_of(one.config) for each in sets for one, _ in each.found.candidates})
    splits = sorted({k_batch for each in sets for _, k_batch in each.found.candidates if k_batch > 1})
    places = {word: at for at, word in enumerate((*kernels, *splits))}
    asked = [found for each in sets if (found := _asked(each, held, constants, places)) is not None]

    def loss(values: npt.NDArray[Any]) -> tuple[float, npt.NDArray[Any]]:
        """The negative logarithm of all rows' chances, and its gradient."""
        slope, weights = values[0], values[1:]
        total, gradient = _DRAWN * float(weights @ weights), np.concatenate([[0.0], 2 * _DRAWN * weights])
        for one in asked:
            total += one.add(slope, weights, gradient)
        return total, gradient

    start = np.concatenate([[_START], np.zeros(len(places))])
    bounds = [(_LEAST, None)] + [(None, None)] * len(places)
    solve: Callable[..., Any] = minimize
    options = {"maxiter": 2000, "ftol": 1e-13, "gtol": 1e-7}
    found = solve(loss, start, jac=True, bounds=bounds, method="L-BFGS-B", options=options).x
    factors = {word: float(f"{np.exp(-found[1 + at] / found[0]):.{_DIGITS}g}") for word, at in places.items()}
    return replace(
        constants,
        kernels={word: factors[word] for word in kernels},
        splits={str(k_batch): factors[k_batch] for k_batch in splits},
    )


@dataclass(frozen=True, slots=True)
class _Asked:
    """Rows of a set: logarithms of times, infinite for what cannot run; the winner of each; of each candidate the place
    of its kernel, and of its splits or -1."""

    logs: npt.NDArray[Any]
    winners: npt.NDArray[Any]
    kernels: npt.NDArray[Any]
    splits: npt.NDArray[Any]

    def add(self, slope: float, weights: npt.NDArray[Any], gradient: npt.NDArray[Any]) -> float:
        """Adds to the gradient; the negative logarithm of the rows' chances."""
        import numpy as np

        own = weights[self.kernels] + np.where(self.splits < 0, 0.0, weights[self.splits])
        scores = own - slope * self.logs
        top = scores.max(axis=1, keepdims=True)
        chances = np.exp(scores - top)
        sums = chances.sum(axis=1, keepdims=True)
        chances /= sums
        rows = np.arange(len(self.winners))
        loss = float((np.log(sums[:, 0]) + top[:, 0] - scores[rows, self.winners]).sum())
        chances[rows, self.winners] -= 1
        finite = np.where(np.isfinite(self.logs), self.logs, 0.0)
        gradient[0] -= (chances * finite).sum()
        of_candidates = chances.sum(axis=0)
        np.add.at(gradient, 1 + self.kernels, of_candidates)
        split = self.splits >= 0
        np.add.at(gradient, 1 + self.splits[split], of_candidates[split])
        return loss


def _asked(
    one: Weighed, held: frozenset[tuple[int, int]], constants: GpuConstants, places: Mapping[Any, int]
) -> _Asked | None:
    import numpy as np

    taken = few_rows(one.found.rows, held, np.random.RandomState(0))
    if not taken:
        return None
    times = np.where(one.found.supported()[taken], one.predicted(constants)[taken], np.inf)
    return _Asked(
        logs=np.log(times),
        winners=np.array([one.found.rows[index].winner for index in taken]),
        kernels=np.array([places[kernel_of(instance.config)] for instance, _ in one.found.candidates]),
        splits=np.array([places.get(k_batch, -1) for _, k_batch in one.found.candidates]),
    )
