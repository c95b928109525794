"""What a tune found, by the machines on which it did."""

from __future__ import annotations

from dataclasses import dataclass, field

from ckgen.tune.journal import Header
from ckgen.tune.known import Known
from ckgen.tune.outcome import Outcome
from ckgen.tune.report import lines_of
from ckgen.tune.search import NAMES
from ckgen.tune.table import TunedLine


@dataclass(slots=True)
class Gathered:
    """All ladders' ends, what is known of them, and by header the ladders whose library and machine it says."""

    outcome: Outcome = field(default_factory=Outcome)
    known: Known = field(default_factory=lambda: Known("", NAMES))
    by_header: dict[Header, Outcome] = field(default_factory=dict)

    def lines(self, date: str) -> list[TunedLine]:
        """The rows that are worth one, each with its machine."""
        return [line for header, outcome in self.by_header.items() for line in lines_of(outcome, header, date)]
