"""How far predicted times are from measured ones, and where the measured winner stands among the predicted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp
from typing import TYPE_CHECKING, Any

from ckgen.families.gemm.candidates import default_cost
from ckgen.families.gemm.predicted.constants import constants_for, standing_in
from ckgen.families.gemm.predicted.gpu_time import GpuConstants
from ckgen.predict.arrays import Weighed
from ckgen.predict.fit import fit
from ckgen.predict.measured import MeasuredSet, Won, files_of, layers_in_folds

if TYPE_CHECKING:
    import numpy.typing as npt

BEST = 8
BANDS: Mapping[str, Callable[[int], bool]] = {
    "M <= 16": lambda m: m <= 16,
    "16 < M <= 128": lambda m: 16 < m <= 128,
    "128 < M <= 1024": lambda m: 128 < m <= 1024,
    "M > 1024": lambda m: m > 1024,
    "all": lambda m: True,
}
Held = Iterable[frozenset[tuple[int, int]]]


@dataclass(frozen=True, slots=True)
class Errors:
    """Of the |log(predicted / measured)| of winners: the median, and what nine in ten are below.

    None of a baseline where no row was left that it could be fitted to.
    """

    median: float | None
    p90: float | None


@dataclass(frozen=True, slots=True)
class Ranks:
    """The share of rows whose winner is predicted best, and among the best eight, of so many candidates on average."""

    first: float
    best: float
    candidates: float


@dataclass(frozen=True, slots=True)
class Score:
    """Of a band of M. `every`: ranks among all candidates; `tried`: among those that the tables seem to have tried.

    Of rows whose winner is a default of selection (`default_rows`), `by_cost` is the share that the cost of
    docs/selection.md gives it to, among the defaults, and `by_time` the share that predicted times do. Where losers'
    times are known, `cost_regret` and `time_regret` are what those two choices take over the fastest, as a geomean.

    `roofline`: bytes or operations, the longer, over one efficiency; `mnk`: M·N·K over one rate. Both are fitted to the
    same rows as the model.
    """

    rows: int
    model: Errors
    roofline: Errors
    mnk: Errors
    every: Ranks
    tried: Ranks
    default_rows: int
    by_cost: float
    by_time: float
    cost_regret: float | None
    time_regret: float | None


def judge(sets: Sequence[Weighed], folds: int, by_file: bool) -> list[dict[str, Score]]:
    """Scores by band for each set of one kind, constants fitted to layers that the judged rows have no part in.

    `by_file`: the layers of a file together, and fitted to none of them in any file; else in so many folds. 0 folds:
    by the shipped constants. Where too few rows are left, by those that stand in.
    """
    parts: Held = [frozenset()]
    if by_file:
        parts = files_of(row for one in sets for row in one.found.rows)
    elif folds:
        parts = layers_in_folds([row for one in sets for row in one.found.rows], folds)
    scores = [_Scored(one) for one in sets]
    for held in parts:
        constants = _constants(sets, held)
        lines = [_lines(sets, held, by) for by in (_roofline, _products)]
        for one in scores:
            one.take(held, constants, lines)
    return [one.by_band() for one in scores]


def _constants(sets: Sequence[Weighed], held: frozenset[tuple[int, int]]) -> GpuConstants:
    arch, module, operand = sets[0].found.kind
    if not held:
        return constants_for(arch, module, operand).constants
    return fit(sets, held) or standing_in(arch, module, operand).constants


def _lines(
    sets: Sequence[Weighed], held: frozenset[tuple[int, int]], by: Callable[[Weighed, Won], float]
) -> tuple[Callable[[Weighed, Won], float], float]:
    """A baseline with the factor that the other rows have at the median."""
    import numpy as np

    seen = [row.us / by(one, row) for one in sets for row in one.found.rows if not held or _key(row) not in held]
    return by, float(np.median(seen)) if seen else np.nan


def _key(row: Won) -> tuple[int, int]:
    return row.shape.n, row.shape.k


def _roofline(one: Weighed, row: Won) -> float:
    shape, signature, chip = row.shape, one.found.signature, one.chip
    batch = max(shape.batch, 1)
    rate = chip.ops_per_clock(signature.a, signature.b) or 1.0
    operations = 2 * batch * shape.m * shape.n * shape.k / (rate * chip.cu_num * chip.mhz)
    bits = shape.k * (shape.m * signature.a.bits + shape.n * signature.b.bits) + shape.m * shape.n * signature.c.bits
    return max(operations, batch * bits / 8 / (chip.gb_per_s * 1e3))


def _products(one: Weighed, row: Won) -> float:
    return float(max(row.shape.batch, 1)) * row.shape.m * row.shape.n * row.shape.k


class _Scored:
    """What is known of a set's rows, fold by fold."""

    def __init__(self, one: Weighed) -> None:
        import numpy as np

        self._one = one
        rows = one.found.rows
        self._m = np.array([row.shape.m for row in rows])
        self._keys = [_key(row) for row in rows]
        self._us = np.array([row.us for row in rows])
        self._winners = np.array([row.winner for row in rows])
        self._every = one.found.supported()
        self._tried = self._every & one.found.tried()
        self._logs = np.zeros((3, len(rows)))
        self._ranks = np.zeros((2, len(rows)))
        self._is_default = np.isin(self._winners, one.found.defaults)
        cheapest = self._cheapest()
        self._by_cost = cheapest == self._winners
        self._by_time = np.zeros(len(rows), dtype=bool)
        self._lost = np.full((2, len(rows)), np.nan)
        self._lost[0] = self._lost_by(cheapest, np.arange(len(rows)))

    def take(self, held: frozenset[tuple[int, int]], constants: GpuConstants, lines: Sequence[Any]) -> None:
        """Scores the rows that were held out; all where nothing was."""
        import numpy as np

        at = np.array([index for index, key in enumerate(self._keys) if not held or key in held], dtype=np.int64)
        if not len(at):
            return
        times = self._one.predicted(constants)[at]
        won = times[np.arange(len(at)), self._winners[at]]
        self._logs[0, at] = np.abs(np.log(won / self._us[at]))
        for number, (by, factor) in enumerate(lines, 1):
            plain = np.array([by(self._one, self._one.found.rows[index]) for index in at])
            self._logs[number, at] = np.abs(np.log(plain * factor / self._us[at]))
        times *= self._one.ranked(constants)
        won = times[np.arange(len(at)), self._winners[at]]
        earlier = np.arange(times.shape[1]) < self._winners[at][:, None]
        ahead = (times < won[:, None]) | ((times == won[:, None]) & earlier)  # as `predict gemm` lists equal ones
        for number, could in enumerate((self._every, self._tried)):
            self._ranks[number, at] = (ahead & could[at]).sum(axis=1)
        best = self._best_default(times, at)
        self._by_time[at] = best == self._winners[at]
        self._lost[1, at] = self._lost_by(best, at)

    def _lost_by(self, chosen: npt.NDArray[Any], at: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The logarithm of what choices take over the fastest kernel; not a number where their times are not known."""
        import numpy as np

        own = np.where(chosen < 0, np.nan, self._one.took[at, chosen])
        return np.asarray(np.log(own / self._one.fastest[at]))

    def _cheapest(self) -> npt.NDArray[Any]:
        """The default that costs least of each row."""
        import numpy as np

        found = self._one.found
        costs = np.full(self._every.shape, np.inf)
        for column in found.defaults:
            instance = found.candidates[column][0]
            costs[:, column] = [default_cost(instance, row.shape, found.target.cu_num) for row in found.rows]
        return self._best_default(costs, np.arange(len(found.rows)))

    def _best_default(self, weights: npt.NDArray[Any], at: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The position of the supported default that weighs least; of equal ones the earlier. -1 without any."""
        import numpy as np

        columns = np.array(self._one.found.defaults, dtype=np.int64)
        if not len(columns):
            return np.full(len(at), -1)
        among = np.where(self._every[at][:, columns], weights[:, columns], np.inf)
        return np.asarray(np.where(np.isfinite(among).any(axis=1), columns[among.argmin(axis=1)], -1))

    def by_band(self) -> dict[str, Score]:
        """Of bands that have rows."""
        import numpy as np

        masks = {band: np.array([holds(int(m)) for m in self._m]) for band, holds in BANDS.items()}
        return {band: self._score(mask) for band, mask in masks.items() if mask.any()}

    def _score(self, mask: npt.NDArray[Any]) -> Score:
        import numpy as np

        errors = [_errors(log[mask]) for log in self._logs]
        ranks = [
            Ranks(float((rank[mask] < 1).mean()), float((rank[mask] < BEST).mean()), float(could[mask].sum(1).mean()))
            for rank, could in zip(self._ranks, (self._every, self._tried), strict=True)
        ]
        own = mask & self._is_default
        shares = [float(hits[own].mean()) if own.any() else 0.0 for hits in (self._by_cost, self._by_time)]
        regrets = [_geomean(log[mask & ~np.isnan(self._lost).any(axis=0)]) for log in self._lost]
        return Score(
            int(mask.sum()), errors[0], errors[1], errors[2], ranks[0], ranks[1], int(own.sum()), *shares, *regrets
        )


def _geomean(logs: npt.NDArray[Any]) -> float | None:
    return exp(float(logs.mean())) if len(logs) else None


def _errors(logs: npt.NDArray[Any]) -> Errors:
    import numpy as np

    if np.isnan(logs).any():
        return Errors(None, None)
    return Errors(float(np.median(logs)), float(np.quantile(logs, 0.9)))


def of_kinds(sets: Iterable[MeasuredSet], weigh: Callable[[MeasuredSet], Weighed]) -> list[list[Weighed]]:
    """Sets that share constants together, in order."""
    kinds: dict[tuple[str, str, str], list[Weighed]] = {}
    for one in sets:
        kinds.setdefault(one.kind, []).append(weigh(one))
    return [kinds[kind] for kind in sorted(kinds)]
