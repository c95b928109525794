"""What is measured, and what came out: the words between those who ask for measurements and those who take them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from ckgen.fuzz.case import Case
from ckgen.model.hash_once import HashOnce, hash_once


class MeasureStatus(Enum):
    """How a candidate ended.

    OK: verified and timed. WRONG: its result is not the definition's. OUT_OF_BOUNDS: it wrote beside its result or
    workspace. REFUSED: there is no plan, or the run was refused. CRASHED, HUNG, OUT_OF_MEMORY: its process ended, did
    not answer within its limit, or had no memory left. LATE: the limit of the effort was over before it was verified,
    or its end came before it was timed.
    """

    OK = "ok"
    WRONG = "wrong"
    OUT_OF_BOUNDS = "out_of_bounds"
    REFUSED = "refused"
    CRASHED = "crashed"
    HUNG = "hung"
    OUT_OF_MEMORY = "out_of_memory"
    LATE = "late"


@hash_once
@dataclass(frozen=True, slots=True, order=True)
class Candidate(HashOnce):
    """An instance by name, and its number of splits."""

    instance: str
    k_batch: int = 1


@dataclass(frozen=True, slots=True)
class Effort:
    """When to stop: `most` rounds, `seconds` in all, or as soon as every median is known to `still` of itself.

    A sample calls its body as often as lasts `sample` seconds. At least `least` rounds are made, unless those take four
    times as long. limit: seconds, of verification too, after which no further candidate is begun; 0: none. The first
    is timed in any case. ends: seconds after which the process is ended, whatever it does; what was not told until then
    is late; 0: none. outlier: a sample is the lower quartile of its calls one by one, and one that is longer than its
    body's shortest by more than this part is disturbed: it is taken again, as those are of which threads waited for a
    CPU; 0: a sample is the mean of its calls, and none is disturbed so. hopeless: a body whose warm-up lasts so
    many times as long as the fastest's, or as a sample, decides nothing, and is timed by that alone. beside: each
    sample stands between two of one body, the yardstick, and is told in proportion to them.
    """

    seconds: float = 2.5
    least: int = 5
    most: int = 41
    still: float = 0.02
    sample: float = 0.005
    limit: float = 0.0
    ends: float = 0.0
    outlier: float = 0.0
    hopeless: float = 20.0
    beside: bool = False


@dataclass(frozen=True, slots=True)
class Measured:
    """One candidate's outcome. Times are microseconds of one call, 0 where the status is not OK.

    `spread`: half of what lies between the quartiles, as a part of the median. `max_rel` and `frob_rel`: the largest
    error over the largest value, and that of the Frobenius norms, of so many elements as were `checked`. `digest`: of
    the code that ran. `reason`: a sentence where the status is not OK.
    """

    candidate: Candidate
    status: MeasureStatus
    reason: str = ""
    median_us: float = 0.0
    spread: float = 0.0
    runs: int = 0
    max_rel: float = 0.0
    frob_rel: float = 0.0
    checked: int = 0
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Environment:
    """Where it ran: the device's name, its target, driver (empty on a CPU), threads, and versions by name.

    bus: where a GPU is on its machine's; empty where nobody says.
    """

    device: str
    target: str
    driver: str
    threads: int
    versions: tuple[tuple[str, str], ...]
    bus: str = ""


class Measurer(Protocol):
    """Takes measurements on one device. A problem is a Case without an instance; not for several threads."""

    def environment(self) -> Environment:
        """Where it measures."""
        ...

    def candidates(self, problem: Case) -> tuple[Candidate, ...]:
        """Every instance, with each number of splits worth a try, that supports the problem; by name."""
        ...

    def selected(self, problem: Case) -> Candidate | None:
        """What selection takes as the library stands; None where nothing answers."""
        ...

    def measure(
        self,
        problem: Case,
        candidates: Sequence[Candidate],
        effort: Effort,
        done: Callable[[Measured], None] | None = None,
    ) -> tuple[Measured, ...]:
        """Every candidate's outcome, in their order; a candidate's fault is its row, never an exception.

        All are timed in turns with each other. `done` hears each outcome as soon as it is final.
        """
        ...

    def renew(self) -> None:
        """What is measured next runs in a process that was not there before: its memory lies elsewhere."""
        ...
