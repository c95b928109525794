"""Fits the constants of a module on an arch to its measured winners, by scipy; how kernels rank is fitted after."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from ckgen.families.gemm.predicted.constants import LEAST_ROWS, NAMES, OF_PIPELINES
from ckgen.families.gemm.predicted.gpu_time import GpuConstants
from ckgen.model.errors import UsageError
from ckgen.predict.arrays import Some, Weighed
from ckgen.predict.choice import ranked
from ckgen.predict.few_rows import few_rows
from ckgen.predict.known_times import with_own_factors
from ckgen.predict.level import at_their_level

if TYPE_CHECKING:
    import numpy.typing as npt

START = GpuConstants(
    launch=2.5, matrix=1.0, cache=50.0, memory=0.8, latency=700.0, tile=1000.0, store=15.0, reload=0.05, apart=0.5,
    split=3.0,
)  # fmt: skip
"""Where a fit begins, and what it is drawn to where rows do not tell."""
_OUTSIDE = 1.0
"""The same of `outside`."""
_LOSERS = 20
_FASTER = 0.5
_BEFORE = 1.0
_DRAWN = 1.0
"""How strongly each logarithm is drawn to where the fit begins, against that of one row's time."""
_FILE = 1.0
"""The same of what all times of a file have in common, to none."""
_SOFT = 0.15
_HOPELESS = 1.1
"""Of the logarithm of a loser's time over its winner's: of what took longer no more is asked than of an unknown one."""


def fit(sets: Sequence[Weighed], held: frozenset[tuple[int, int]] = frozenset()) -> GpuConstants | None:
    """Constants that fit the rows of sets of one kind but those of the layers that are held out.

    A winner's time is to be met, its own of where losers' are known, and a loser's that is known. Of another loser two
    things are: it took no less than the winner, nor should it be predicted before it. Of the rows few of each layer and
    M are taken, of their losers some that the tables tried, drawn by a fixed seed. What times of one file have in
    common, its machine and its day, is fitted beside and left out where rows of two files or more tell it apart.
    Where losers' times are known, main loops and kernels have factors of their own, and what tiles have beyond the
    ends of A and B has a price, which winners, who seldom have any, do not tell. Elsewhere kernels are ranked by how
    often they win. Of fewer rows than `LEAST_ROWS` only the level is fitted; None where they do not tell it. UsageError
    without scipy.
    """
    import numpy as np

    try:
        from scipy.optimize import least_squares  # type: ignore[import-untyped]
    except ImportError as error:
        raise UsageError("fitting needs scipy: pip install 'ckgen[learn]'") from error
    drawn = [found for one in sets if (found := _draw(one, held)) is not None]
    if sum(one.rows for one in drawn) < LEAST_ROWS:
        return at_their_level(sets, held)
    words = sorted({word for one in drawn for word in one.winners.pipelines})
    known = any(one.lost for one in sets)
    of_loops = words, *(3 * [words if known else []])  # pipelines, launches, tiles, stores
    splits = any((one.winners.sizes.k_batch > 1).any() for one in drawn)
    names = [name for name in NAMES if {"split": splits, "outside": known}.get(name, True)]
    begin = replace(START, outside=_OUTSIDE)
    start = np.log([getattr(begin, name) for name in names] + [1.0] * sum(map(len, of_loops)))
    files = _told_apart(file for one in drawn for file in one.files)
    places = [np.array([files.get(file, 0) for file in one.files]) for one in drawn]

    def read(values: npt.NDArray[Any]) -> GpuConstants:
        numbers = [float(number) for number in np.exp(values[: len(start)])]
        given: dict[str, Any] = dict(zip(names, numbers, strict=False))
        given["apart"] = min(given["apart"], 1.0)
        fitted = {name: given.get(name, getattr(START, name)) for name in NAMES}
        factors = iter(numbers[len(names) :])
        of: dict[str, Any] = {
            name: dict(zip(some, islice(factors, len(some)), strict=True))
            for name, some in zip(OF_PIPELINES, of_loops, strict=True)
        }
        return GpuConstants(**fitted, **of)

    def errors(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        constants, common = read(values), values[len(start) :] if files else np.zeros(1)
        parts = [part for one, at in zip(drawn, places, strict=True) for part in one.errors(constants, common[at])]
        return np.concatenate([*parts, _DRAWN * (values[: len(start)] - start), _FILE * common])

    solve: Callable[..., Any] = least_squares
    first = np.concatenate([start, np.zeros(len(files))])
    found = solve(errors, first, loss="soft_l1", f_scale=_SOFT, max_nfev=40, diff_step=1e-3)
    constants = _rounded(read(found.x))
    return with_own_factors(sets, held, constants) if known else ranked(sets, held, constants)


def _told_apart(rows: Iterable[str]) -> dict[str, int]:
    """A number for each file of rows; none for the only one."""
    files = sorted(set(rows))
    return {file: at for at, file in enumerate(files)} if len(files) > 1 else {}


def _rounded(constants: GpuConstants) -> GpuConstants:
    """Four digits: what is written is what is judged."""
    numbers: dict[str, Any] = {name: float(f"{getattr(constants, name):.4g}") for name in NAMES}
    factors: dict[str, Any] = {
        name: {word: float(f"{x:.4g}") for word, x in getattr(constants, name).items()} for name in OF_PIPELINES
    }
    return GpuConstants(**numbers, **factors)


@dataclass(frozen=True, slots=True)
class _Drawn:
    """Winners with their logarithmic times and files, and losers, each with the number of its winner and its weight.

    `took`: logarithms of losers' times, not a number where none is known.
    """

    winners: Some
    times: npt.NDArray[Any]
    files: tuple[str, ...]
    losers: Some
    took: npt.NDArray[Any]
    of: npt.NDArray[Any]
    weights: npt.NDArray[Any]

    @property
    def rows(self) -> int:
        return len(self.times)

    def errors(self, constants: GpuConstants, common: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], ...]:
        """`common`: of each winner, what the logarithms of its file's times have in common."""
        import numpy as np

        times = self.times - common
        won, lost = np.log(self.winners.predicted(constants)), np.log(self.losers.predicted(constants))
        least = _FASTER * np.maximum(times[self.of] - lost, 0)
        faster = self.weights * np.where(np.isnan(self.took), least, lost - self.took + common[self.of])
        before = _BEFORE * self.weights * np.maximum(won[self.of] - lost + 0.01, 0)
        return won - times, faster, before


def _draw(one: Weighed, held: frozenset[tuple[int, int]]) -> _Drawn | None:
    import numpy as np

    random = np.random.RandomState(0)
    rows = one.found.rows
    taken = few_rows(rows, held, random)
    if not taken:
        return None
    known = np.array([work is not None for work in one.works])
    could = (one.found.supported() & one.found.tried() & known)[taken]
    winners = np.array([rows[index].winner for index in taken])
    could[np.arange(len(taken)), winners] = False
    counts = could.sum(axis=1)
    of, losers = np.nonzero(could & (random.rand(*could.shape) < _LOSERS / np.maximum(counts, 1)[:, None]))
    weights = 1 / np.sqrt(np.maximum(np.minimum(counts, _LOSERS)[of], 1) / 4)
    at = np.array(taken)
    beside_losers = one.took[at, winners]
    times = np.log(np.where(np.isnan(beside_losers), [rows[index].us for index in taken], beside_losers))
    files = tuple(rows[index].file for index in taken)
    took = np.log(one.took[at[of], losers])
    took = np.where(took - times[of] < _HOPELESS, took, np.nan)
    return _Drawn(one.some(at, winners), times, files, one.some(at[of], losers), took, of, weights)
