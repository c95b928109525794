"""Two baselines side by side: which facts changed. Figures of unequal flags are not compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ckgen.model.errors import UsageError
from ckgen.report.baseline import FIGURES, RUN, kernels_of


@dataclass(frozen=True, slots=True)
class Change:
    """One fact of a kernel on an arch, as it was and as it is."""

    name: str
    arch: str
    figure: str
    old: Any
    new: Any

    def __str__(self) -> str:
        return f"{self.name} on {self.arch}: {self.figure} was {self.old}, is {self.new}"


def compare(old: Any, new: Any) -> tuple[Change, ...]:
    """The changes of kernels that both documents have, in the order of `new`; of runs, where both were executed.

    UsageError for a document that is no baseline, and where a kernel was compiled with other flags.
    """
    known = kernels_of(old)
    return tuple(change for place, kernel in kernels_of(new).items() for change in _changes(known.get(place), kernel))


def _changes(old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> Iterator[Change]:
    if old is None:
        return
    if old["flags"] != new["flags"]:
        raise UsageError(
            f"{new['name']} on {new['arch']}: compiled with flags {new['flags']}, before with {old['flags']}: "
            "figures of unequal flags are not compared"
        )
    both_ran = old["right"] is not None and new["right"] is not None
    for figure in (*FIGURES, *(RUN if both_ran else ())):
        if old[figure] != new[figure]:
            yield Change(new["name"], new["arch"], figure, old[figure], new[figure])
