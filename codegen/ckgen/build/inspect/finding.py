"""What a gate says about a kernel: a rule broken, and whether that forbids to ship it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ckgen.model.diagnostic import Severity
from ckgen.model.finding import RuleFinding


@dataclass(frozen=True, slots=True)
class CodeFinding(RuleFinding):
    """A finding about compiled code; an ERROR fails the gate (exit 1), WARNING and NOTE are said and nothing else."""

    severity: Severity = Severity.ERROR

    def to_json(self) -> dict[str, object]:
        """The keys rule, severity, reason, measured, limit."""
        return {
            "rule": self.rule,
            "severity": self.severity.value,
            "reason": self.reason,
            "measured": self.measured,
            "limit": self.limit,
        }


def fails(findings: Iterable[CodeFinding]) -> bool:
    """Whether one of them is an error."""
    return any(finding.severity is Severity.ERROR for finding in findings)
