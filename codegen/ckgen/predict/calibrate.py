"""Constants of a CPU from times of kernels on it: those of a tune's journal."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from math import log
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from ckgen.families.gemm.predicted.chip import Chip
from ckgen.model.errors import UsageError
from ckgen.model.halves import Halves
from ckgen.predict.cpu_time import CpuConstants, CpuCounts, cpu_time

_ROUNDS = 20
_FAR = 0.1
LEAST = 16
"""Times that a fit takes at least."""


@dataclass(frozen=True, slots=True)
class Timed:
    """A kernel's counts on a problem, and its time. `problem` tells problems apart, `layer` those of one (N, K).
    `halves`: times by the odd rounds and by the even ones, where there were several."""

    problem: str
    layer: tuple[int, int]
    kernel: str
    counts: CpuCounts
    us: float
    halves: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Calibrated:
    """Constants of one signature on one target, of so many times on `device` at `mhz`."""

    target: str
    signature: str
    device: str
    mhz: float
    times: int
    constants: CpuConstants


@dataclass(frozen=True, slots=True)
class Regret:
    """Of problems whose layers no constant was fitted to: the chosen kernel's time over the fastest one's.

    floor: the geometric mean of what noise leaves of it; None where there was one round.
    """

    problems: int
    geomean: float
    p95: float
    worst: float
    error: float
    floor: float | None = None


def fit(timed: Sequence[Timed], chip: Chip) -> CpuConstants:
    """The constants, none negative, that bring predicted times nearest to measured ones in proportion; what no kernel
    has stays as it is of a CPU that nobody calibrated.

    What is far off counts less with each round, since a time may have been disturbed. UsageError for too few times or
    without scipy.
    """
    import numpy as np

    try:
        from scipy.optimize import nnls  # type: ignore[import-untyped]
    except ImportError as error:
        raise UsageError("fitting needs scipy: pip install 'ckgen[learn]'") from error
    if len(timed) < LEAST:
        raise UsageError(f"{len(timed)} times of kernels are too few to fit: {LEAST} at least")
    scale = np.array([1.0 if one.name == "call" else 1 / chip.mhz for one in fields(CpuCounts)])
    counts = np.array([astuple(one.counts) for one in timed]) * scale / np.array([one.us for one in timed])[:, None]
    weights = np.ones(len(timed))
    found = usual = np.array(astuple(CpuConstants()))
    for _ in range(_ROUNDS):
        found, _ = nnls(counts * weights[:, None], weights)
        off = np.log(np.maximum(counts @ found, 1e-6))
        weights = (1 + (off / _FAR) ** 2) ** -0.75
    found = np.where(counts.any(axis=0), found, usual)
    return CpuConstants(*(float(f"{number:.4g}") for number in found))


def regret(timed: Sequence[Timed], chip: Chip, best_of: int = 1) -> Regret:
    """Of each layer's problems by constants that were fitted to the other layers.

    `best_of`: the fastest of so many predicted best, as a tune that measures them would take.
    """
    layers = sorted({one.layer for one in timed})
    if len(layers) < 2:
        raise UsageError("the times are of one (N, K): another is needed to judge by")
    lost: list[float] = []
    floors: list[float] = []
    errors: list[float] = []
    for held in layers:
        constants = fit([one for one in timed if one.layer != held], chip)
        judged = [one for one in timed if one.layer == held]
        for problem in sorted({one.problem for one in judged}):
            asked = [(cpu_time(one.counts, chip, constants).us, one) for one in judged if one.problem == problem]
            asked.sort(key=lambda pair: (pair[0], pair[1].kernel))
            lost.append(_lost([one for _, one in asked], best_of))
            floors += [floor] if (floor := _halves(one for _, one in asked).floor) is not None else []
            errors += [abs(log(us / one.us)) for us, one in asked if us > 0]
    lost.sort()
    errors.sort()
    p95 = lost[min(len(lost) * 95 // 100, len(lost) - 1)]
    floor = geometric_mean(floors) if floors else None
    return Regret(len(lost), geometric_mean(lost), p95, lost[-1], errors[len(errors) // 2], floor)


def _lost(asked: Sequence[Timed], best_of: int) -> float:
    """What the fastest of the first few loses, by halves of the rounds where there were several."""
    first = asked[:best_of]
    by_halves = _halves(asked).regret(one.kernel for one in first)
    return by_halves if by_halves is not None else min(one.us for one in first) / min(one.us for one in asked)


def _halves(every: Iterable[Timed]) -> Halves[str]:
    split = {one.kernel: one.halves for one in every if one.halves is not None}
    return Halves(*({kernel: times[index] for kernel, times in split.items()} for index in (0, 1)))


def document(found: Sequence[Calibrated]) -> dict[str, Any]:
    """As JSON that `read` reads."""
    names = [one.name for one in fields(CpuConstants)]
    return {
        "calibrated": [
            {
                "target": one.target,
                "signature": one.signature,
                "device": one.device,
                "mhz": one.mhz,
                "times": one.times,
                "constants": dict(zip(names, astuple(one.constants), strict=True)),
            }
            for one in found
        ]
    }


def read(path: Path) -> tuple[Calibrated, ...]:
    """What `ckgen predict calibrate --out` wrote; UsageError for anything else."""
    try:
        found: Sequence[Mapping[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["calibrated"]
        return tuple(Calibrated(**{**one, "constants": CpuConstants(**one["constants"])}) for one in found)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path}: no constants of `ckgen predict calibrate` ({error})") from error
