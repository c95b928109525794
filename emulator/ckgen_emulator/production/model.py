"""What a kind of production kernel is, and what a run of one came to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckgen_emulator.bindings import Finding
from ckgen_emulator.production.wheel import KernelFile, Wheel

Values = NDArray[Any]

_INFINITE = (float("inf"),)


@dataclass(frozen=True, slots=True)
class Output:
    """An array that the kernel writes, and what a correct kernel may leave in its first elements.

    `bound`: the largest error per element, of `expected`'s shape or one for all; 0 asks equality. `zeroed`: the kernel
    adds to it, so the host clears it first; else it starts as bytes 0xff that nobody may read. `decoded`: what the
    array's contents stand for, where that is something else. `held`: what the array holds before, where it is read too.
    """

    name: str
    actual: Values
    expected: Values
    bound: Values | float
    zeroed: bool = False
    decoded: Callable[[Values], Values] | None = None
    held: Values | None = None


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch: grid in workgroups, work items of a workgroup, argument bytes, and the arrays they point to.

    `inputs` may only be read. `scratch` may be written too, and nothing is expected of it.
    """

    grid: tuple[int, int, int]
    block: int
    arguments: bytes
    inputs: tuple[Values, ...]
    outputs: tuple[Output, ...]
    scratch: tuple[Values, ...] = ()
    compute_units: int | None = None


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of production kernel.

    `files`: the wheel's code objects of this kind. `problems`: small problems by name that together reach what the
    kernel distinguishes. `edges`: others by name, at, below and above each condition that the host code has or that the
    kernel needs and the host code lacks. `prepare`: the launch of a problem on random data.
    """

    name: str
    what: str
    files: Callable[[Wheel], tuple[KernelFile, ...]]
    problems: Callable[[KernelFile], Mapping[str, Any]]
    prepare: Callable[[KernelFile, Any, np.random.Generator], Launch]
    edges: Callable[[KernelFile], Mapping[str, Any]] = lambda file: {}


@dataclass(frozen=True, slots=True)
class FirstWrong:
    """The first element that is wrong, by its indices in the expectation."""

    index: tuple[int, ...]
    expected: float
    actual: float

    def to_json(self) -> dict[str, Any]:
        """All fields; null for what is not finite."""
        values = {"expected": self.expected, "actual": self.actual}
        return {"index": list(self.index), **{name: one if np.isfinite(one) else None for name, one in values.items()}}


@dataclass(frozen=True, slots=True)
class Compared:
    """An output against its expectation. `excess`: the largest error in units of its bound, at most 1 where right."""

    name: str
    max_error: float
    bound: float
    excess: float
    wrong: int
    first: FirstWrong | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """A run of one kernel: `seed` is the schedule's; `stats` as bindings.stats_of, where they were kept.

    `origin`: what wrote the first wrong element of the first wrong output, where that was traced.
    """

    kind: str
    kernel: str
    arch: str
    problem: str
    seed: int
    compared: tuple[Compared, ...]
    findings: tuple[Finding, ...]
    instructions: int
    seconds: float
    stats: Mapping[str, Any] = field(default_factory=dict)
    origin: Mapping[str, Any] | None = None

    @property
    def right(self) -> bool:
        """Every element of every output is within its bound."""
        return all(one.wrong == 0 for one in self.compared)

    @property
    def ok(self) -> bool:
        """Right, and nothing was found."""
        return self.right and not self.findings

    @property
    def max_error(self) -> float:
        """The largest absolute error of all outputs."""
        return max(one.max_error for one in self.compared)

    def to_json(self) -> dict[str, Any]:
        """As JSON has it: no infinities."""
        compared = [
            {
                **{
                    key: None if value in _INFINITE else value
                    for key, value in asdict(replace(one, first=None)).items()
                },
                "first": one.first.to_json() if one.first is not None else None,
            }
            for one in self.compared
        ]
        return {
            "kind": self.kind,
            "arch": self.arch,
            "kernel": self.kernel,
            "problem": self.problem,
            "seed": self.seed,
            "right": self.right,
            "outputs": compared,
            "findings": [asdict(one) for one in self.findings],
            "instructions": self.instructions,
            "seconds": round(self.seconds, 3),
        }


def compare(output: Output) -> Compared:
    """Element by element; a NaN that is not expected is infinitely wrong."""
    expected = np.asarray(output.expected, np.float64)
    bound = np.broadcast_to(np.asarray(output.bound, np.float64), expected.shape)
    with np.errstate(invalid="ignore", divide="ignore"):
        held = output.actual if output.decoded is None else output.decoded(output.actual)
        actual = held.reshape(-1)[: expected.size].reshape(expected.shape).astype(np.float64)
        error = np.abs(actual - expected)
        same = (actual == expected) | (np.isnan(actual) & np.isnan(expected))
        error = np.where(same, 0.0, np.where(np.isnan(error), np.inf, error))
        excess = np.where(error == 0, 0.0, error / bound)
    bad = excess > 1
    first = None
    if bad.any():
        place = tuple(int(index) for index in np.argwhere(bad)[0])
        first = FirstWrong(place, float(expected[place]), float(actual[place]))
    most = (float(error.max()), float(bound.max()), float(excess.max()))
    return Compared(output.name, *most, int(np.count_nonzero(bad)), first)
