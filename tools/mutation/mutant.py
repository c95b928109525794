"""What a room can be asked to change, and what became of a change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Key:
    """Names a mutant by text, so that it is found again when lines above it come or go."""

    file: str
    """Relative to the repository."""
    operator: str
    line: str
    """Text of the line that is changed, stripped."""
    occurrence: int
    """Which of all that agree in the rest, in the order of the file, from 0."""

    def __str__(self) -> str:
        return f"{self.file}|{self.operator}|{self.line}|{self.occurrence}"


@dataclass(frozen=True, slots=True)
class Site:
    """A place where one operator can change one file; `line` and `column` count from 1 and 0."""

    key: Key
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Mutant:
    """A site with the text that its file becomes; `before` and `after` are the changed line, stripped."""

    site: Site
    before: str
    after: str
    text: str


class Fate(Enum):
    """What the tests of a room said of a mutant."""

    KILLED = "killed"
    TIMEOUT = "timeout"
    """Killed: the tests did not end in the time that they are given."""
    SURVIVED = "survived"
    EQUIVALENT = "equivalent"
    """Listed as such, and not run."""
    INVALID = "invalid"
    """Does not compile, so that another one is drawn in its place."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A fate, and the test that decided it or what else there is to say."""

    fate: Fate
    by: str = ""


class Room(Protocol):
    """A part of the product with tests of its own. `tree` is a copy of the repository that may be written to."""

    @property
    def name(self) -> str: ...

    def sites(self, tree: Path) -> Sequence[Site]:
        """All places that can be changed, always in the same order, with keys made by `numbered`."""

    def mutate(self, tree: Path, site: Site) -> Mutant | None:
        """The change at a place of `sites`; None if its text cannot be right, which is then as if it were not there."""

    def prepare(self, tree: Path) -> None:
        """Builds and tests the unmutated copy once, and measures. Raises RuntimeError if its tests fail."""

    def judge(self, tree: Path, mutant: Mutant) -> Outcome:
        """Builds and tests a copy that holds the mutant. Never leaves a process behind."""


def numbered(found: Iterable[tuple[str, str, str, int, int]]) -> list[Site]:
    """Sites of (file, operator, text of the line, line, column) in the order of the file; each gets its occurrence."""
    seen: Counter[tuple[str, str, str]] = Counter()
    sites = []
    for file, operator, text, line, column in found:
        same = (file, operator, text.strip())
        sites.append(Site(Key(*same, seen[same]), line, column))
        seen[same] += 1
    return sites


def changed_line(old: str, new: str) -> tuple[str, str]:
    """The first line in which two texts differ, as in the one and as in the other, stripped."""
    pairs = zip(old.splitlines(), new.splitlines(), strict=False)
    return next(((one.strip(), other.strip()) for one, other in pairs if one != other), ("", ""))
