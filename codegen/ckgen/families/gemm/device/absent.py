"""What a CK tree cannot do, as data: ordered conditions over facts of an instance, and why."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

Fact = str | int | bool


@dataclass(frozen=True, slots=True)
class Absent:
    """Why there is no device code: what is asked for, what the tree lacks for it, and where newer code has it."""

    id: str
    reason: str
    absent: tuple[str, ...]
    newer: str

    @property
    def text(self) -> str:
        """One line for people."""
        lacks = f": no {', '.join(self.absent)} in this CK tree" if self.absent else ""
        return f"{self.reason}{lacks} (rule {self.id})"


@dataclass(frozen=True, slots=True)
class AbsentRule:
    """Fits where every fact of `when` has one of its values, and none of `unless`."""

    when: Mapping[str, tuple[Fact, ...]]
    unless: Mapping[str, tuple[Fact, ...]]
    absent: Absent

    def fits(self, facts: Mapping[str, Fact]) -> bool:
        """Whether the rule speaks of such an instance; KeyError for a fact that is not among them."""
        holds = all(facts[name] in wanted for name, wanted in self.when.items())
        return holds and not any(facts[name] in wanted for name, wanted in self.unless.items())


@cache
def absent_rules(file: str, part: str = "entries") -> tuple[AbsentRule, ...]:
    """The rules of a data file of this folder, in order."""
    data = json.loads(Path(__file__).with_name(file).read_text(encoding="utf-8"))
    return tuple(map(_rule, data[part]))


def first_fit(rules: Iterable[AbsentRule], facts: Mapping[str, Fact]) -> Absent | None:
    """Why, by the first rule that fits; None where none does."""
    return next((rule.absent for rule in rules if rule.fits(facts)), None)


def _rule(entry: Mapping[str, Any]) -> AbsentRule:
    return AbsentRule(
        when={name: tuple(wanted) for name, wanted in entry["when"].items()},
        unless={name: tuple(wanted) for name, wanted in entry.get("unless", {}).items()},
        absent=Absent(entry["id"], entry["reason"], tuple(entry["absent"]), entry["newer"]),
    )
