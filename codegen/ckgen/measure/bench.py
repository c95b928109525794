"""A bench of one problem, on this machine or on a worker of a cluster: a row for each candidate and way of a peer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from ckgen.fuzz.case import Case
from ckgen.measure import local
from ckgen.measure.conditions import Conditions, Limits
from ckgen.measure.library import Contents, build_library
from ckgen.measure.local import LocalMeasurer
from ckgen.measure.model import Candidate, Effort, Measured, MeasureStatus
from ckgen.measure.remote import opened
from ckgen.measure.rows import Measure, Setting
from ckgen.model.arch import CPU_LEVELS

Heard = Callable[[int, int], None]
"""Of how many candidates it is known whether they are right, and how many there are; then they are timed."""


@dataclass(frozen=True, slots=True)
class Bench:
    """What `ckgen bench` measures with; see Opens."""

    contents: Contents
    conditions: Conditions
    limits: Limits
    twins: bool
    work: Path | None = None

    def build(self, say: Callable[[str], None] = lambda text: None) -> Path:
        """The library, built where it is not up to date, and into `work` where there is one."""
        is_cpu = self.contents.target.gfx in CPU_LEVELS
        return build_library(replace(self.contents, twins=self.twins and not is_cpu), say, self.work)

    def open(self, say: Callable[[str], None] = lambda text: None) -> LocalMeasurer:
        """Errors as local_measurer's."""
        what = self.contents
        return local.local_measurer(
            what.target, what.ops, what.signatures, tuning=what.tuning, kernel_sets=what.kernel_sets,
            conditions=self.conditions, limits=self.limits, twins=self.twins, work=self.work, say=say,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Asked:
    """A problem, globs of the kernels that are meant (none: all), peers, and how long.

    only_selected: of these what selection takes alone.
    """

    problem: Case
    kernels: tuple[str, ...]
    peers: tuple[str, ...]
    effort: Effort
    only_selected: bool = False


def rows_on_worker(task: tuple[Bench, Asked]) -> list[dict[str, Any]]:
    """With the worker's own measurer."""
    bench, asked = task
    return rows_of(opened(bench), asked)


def rows_of(measurer: LocalMeasurer, asked: Asked, heard: Heard = lambda known, wanted: None) -> list[dict[str, Any]]:
    """The candidates' by time, then the peers'; of a problem that has no candidate one that is refused."""
    setting = Setting(measurer.environment(), measurer.conditions, asked.effort, measurer.library)
    problem, globs = asked.problem, asked.kernels
    every = measurer.candidates(problem)
    selected = measurer.selected(problem) if every else None
    meant = [one for one in every if one == selected] if asked.only_selected else every
    wanted = [one for one in meant if not globs or any(fnmatchcase(one.instance, glob) for glob in globs)]
    if not wanted:
        reason = f"no kernel that is meant among {len(every)}" if every else "no instance supports the problem"
        outcome = Measured(Candidate("", 0), MeasureStatus.REFUSED, reason, digest=measurer.digest)
        return [Measure(problem, 0, 0).row(outcome, None, setting)]

    def examined(count: int) -> None:
        heard(count, len(wanted))

    compared = measurer.compare(problem, wanted, asked.peers, asked.effort, examined=examined)
    measure = Measure(problem, compared.bytes, compared.sets)
    ranked = sorted(map(compared.outcome, wanted), key=lambda one: (one.median_us or float("inf"), one.candidate))
    rows = [measure.row(outcome, selected, setting) for outcome in ranked]
    return rows + [measure.peer_row(outcome, setting) for outcome in compared.peers()]
