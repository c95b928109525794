"""Why a Config is not valid: never a bare bool."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RuleFinding:
    """One rule broken: its id, the reason in words, the number found and the limit that it breaks."""

    rule: str
    reason: str
    measured: int | float | str
    limit: int | float | str

    def __str__(self) -> str:
        return f"{self.rule}: {self.reason} ({self.measured}, limit {self.limit})"
