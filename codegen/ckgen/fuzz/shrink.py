"""A failing case made small: options dropped and numbers halved while it fails in the same way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, replace
from typing import Any

from ckgen.fuzz.case import Case
from ckgen.fuzz.outcome import FailureKind, Outcome
from ckgen.model.groups import GroupSize

_MOST_RUNS, _MOST_HANGS = 300, 12
_MOST_SECONDS = 120.0
_GRAINS = (128, 32, 16, 2)


def shrink(
    case: Case, kind: FailureKind, ask: Callable[[Case], Outcome], seconds: float = _MOST_SECONDS
) -> tuple[Case, Outcome | None]:
    """The smallest case found in so many seconds that fails as `kind`, and its outcome; None where nothing smaller
    does."""
    runs, best, began = 0, None, time.monotonic()
    most = _MOST_HANGS if kind is FailureKind.HANG else _MOST_RUNS
    went_on = True
    while went_on:
        went_on = False
        for smaller in candidates(case):
            if runs >= most or time.monotonic() - began >= seconds:
                return case, best
            runs += 1
            outcome = ask(smaller)
            if outcome.kind is kind:
                case, best, went_on = smaller, outcome, True
                break
    return case, best


def candidates(case: Case) -> Iterator[Case]:
    """Simpler cases, the boldest first: every field at its default, then numbers nearer to it."""
    own = [(one.name, getattr(case, one.name), one.default) for one in fields(Case) if one.default is not MISSING]
    for name, value, usual in own:
        if value != usual:
            yield replace(case, **{name: usual})
    for sizes in _fewer(case.groups or ()):
        yield replace(case, groups=sizes)
    for name, value, usual in own:
        if type(value) is int:
            for number in _nearer(value, usual):
                nearer: Any = {name: number}
                yield replace(case, **nearer)


def _fewer(sizes: tuple[GroupSize, ...]) -> Iterator[tuple[GroupSize, ...]]:
    """Half of the groups, one fewer, then one of them smaller in one size."""
    half = len(sizes) // 2
    if half:
        yield sizes[:half]
        yield sizes[half:]
    if len(sizes) > 2:
        yield from (sizes[:at] + sizes[at + 1 :] for at in range(len(sizes)))
    for at, size in enumerate(sizes):
        for axis in ("m", "n", "k"):
            for number in _nearer(getattr(size, axis), 1):
                yield (*sizes[:at], replace(size, **{axis: number}), *sizes[at + 1 :])


def _nearer(value: int, usual: Any) -> Iterator[int]:
    """Numbers between: halved, halved to a multiple of what kernels ask for, one step."""
    apart = value - usual
    if abs(apart) < 2:
        return
    half = usual + int(apart / 2) if abs(apart) < 2**53 else usual + apart // 2
    found = [half, *(half // grain * grain for grain in _GRAINS if half > grain)]
    found += [value - grain for grain in _GRAINS if value % grain == 0 and value > grain]
    found.append(value - 1 if apart > 0 else value + 1)
    yield from (number for number in dict.fromkeys(found) if abs(number - usual) < abs(apart))
