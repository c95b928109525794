"""What became of a case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any

from ckgen.families.common.sensitivity import Sensitivity


class CaseStatus(Enum):
    """REFUSED: both languages said why not. PLANNED: selected and planned, too large to run. RAN: compared."""

    REFUSED = "refused"
    PLANNED = "planned"
    RAN = "ran"
    FAILED = "failed"


class FailureKind(Enum):
    """What went wrong; shrinking keeps it."""

    CRASH = "crash"
    HANG = "hang"
    INTERNAL = "internal"
    SIGNATURE = "signature"
    SELECTION = "selection"
    EXPLANATION = "explanation"
    ENUMERATION = "enumeration"
    REFUSAL = "refusal"
    RESULT = "result"
    MEMORY = "memory"
    EMULATED = "emulated"


@dataclass(frozen=True, slots=True)
class Outcome:
    """`tier` as selected; `instance` that ran or was planned; `what` says what failed, of `kind`.

    Failures of one kind that are `about` the same are told once. `seen`: how small an error was, by the kind of data,
    where that was asked for.
    """

    status: CaseStatus
    tier: str = ""
    instance: str = ""
    kind: FailureKind | None = None
    what: str = ""
    about: str = ""
    seen: Mapping[str, Sensitivity] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """All fields; `from_json` reads them."""
        return {**asdict(self), "status": self.status.value, "kind": self.kind.value if self.kind else None}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Outcome:
        """The inverse of `to_json`."""
        kind = document["kind"]
        seen = {data: Sensitivity(**fields) for data, fields in document["seen"].items()}
        values = {
            **document,
            "status": CaseStatus(document["status"]),
            "kind": FailureKind(kind) if kind else None,
            "seen": seen,
        }
        return cls(**values)


class CaseFailure(Exception):
    """A case that shows an error of ckgen; without `about` it is told once for each text that differs in more than
    numbers."""

    def __init__(self, kind: FailureKind, what: str, about: str | None = None) -> None:
        super().__init__(what)
        self.kind = kind
        self.about = about if about is not None else "".join(one for one in what if not one.isdigit())

    @property
    def outcome(self) -> Outcome:
        """As a case's outcome."""
        return Outcome(CaseStatus.FAILED, kind=self.kind, what=str(self), about=self.about)


@dataclass(frozen=True, slots=True)
class Failure:
    """What is told: `command` shows it again. Case `index` of the run was `drawn` and then minimised."""

    kind: FailureKind
    what: str
    command: str
    index: int | None = None
    drawn: str | None = None

    def to_json(self) -> dict[str, Any]:
        """As it stands in the document of `ckgen fuzz --json`."""
        return {**asdict(self), "kind": self.kind.value}


@dataclass(frozen=True, slots=True)
class Sampled:
    """Of an op's emulated problems: how many of those asked for ran, and what failed: wrong, found in a run, or too few
    to be drawn."""

    ran: int
    failures: list[Failure]
