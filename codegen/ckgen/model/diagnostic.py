"""What is wrong, where, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

_UNPRINTABLE = re.compile(r"[^\n -~]")


def printable(text: str) -> str:
    """The text with everything that is neither printable nor a line end as an escape such as `\\x1b`."""
    return _UNPRINTABLE.sub(lambda found: ascii(found[0])[1:-1] if not found[0].isprintable() else found[0], text)


def printable_line(text: str) -> str:
    """The same of one line: it stays one."""
    return printable(text).replace("\n", "\\n")


class Severity(Enum):
    """ERROR stops a command (exit 3); WARNING and NOTE are said and nothing else."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True, order=True)
class Location:
    """A place in an input file; `line` counts from 1, 0 means the whole file."""

    file: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding about an input, with a stable code.

    `message` is one line; `detail` lines follow it indented, and may be made when they are read; `hint` says what to do
    next.
    """

    code: str
    message: str
    location: Location | None = None
    detail: Sequence[str] = ()
    hint: str | None = None
    related: tuple[Location, ...] = ()
    severity: Severity = Severity.ERROR

    def render(self) -> str:
        """The text that a user reads, as in `error[T012] tables/x.csv:812: …`.

        What input holds can neither steer a terminal nor pass for a line of its own: it is escaped.
        """
        places = [str(place) for place in (self.location, *self.related) if place is not None]
        where = f" {' and '.join(places)}" if places else ""
        lines = [f"{self.severity.value}[{self.code}]{where}: {self.message}"]
        lines += [f"            {line}" for line in (*self.detail, *([self.hint] if self.hint else []))]
        return "\n".join(map(printable_line, lines))

    def to_json(self) -> dict[str, object]:
        """The same as a JSON object with the keys code, severity, file, line, message, detail, hint, related."""
        return {
            "code": self.code,
            "severity": self.severity.value,
            "file": self.location.file if self.location else None,
            "line": self.location.line or None if self.location else None,
            "message": self.message,
            "detail": list(self.detail),
            "hint": self.hint,
            "related": [str(place) for place in self.related],
        }


def in_order(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """By place, then code, then message: the same input always reads the same."""
    # There may be one for each of a million rows: sorted by each key, which makes no tuples.
    found = list(diagnostics)
    found.sort(key=lambda one: one.message)
    found.sort(key=lambda one: one.code)
    found.sort(key=lambda one: one.location.line if one.location else 0)
    found.sort(key=lambda one: one.location.file if one.location else "")
    return tuple(found)
