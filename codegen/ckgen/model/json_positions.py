"""Where each key and item of a JSON text stands: read only when something is wrong with it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

Path = tuple[str | int, ...]

_SPACE = re.compile(r"[ \t\r\n]*")
_SCALAR = re.compile(r"[^\s,\]\}]+")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


@dataclass(slots=True)
class Positions:
    """Line of every path (an object's member stands where its key stands), and the keys given twice."""

    lines: dict[Path, int] = field(default_factory=dict)
    duplicates: list[tuple[Path, int, int]] = field(default_factory=list)

    def line_of(self, path: Path) -> int:
        """The line of a path, or of its nearest ancestor that the text has."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def scan(text: str) -> Positions:
    """Read the positions of a text that `json` accepts."""
    found = Positions()
    newlines = [match.start() for match in re.finditer("\n", text)]
    _value(text, _skip(text, 0), (), found, newlines)
    return found


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _line(at: int, newlines: list[int]) -> int:
    low, high = 0, len(newlines)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if newlines[middle] < at else (low, middle)
    return low + 1


def _value(text: str, at: int, path: Path, found: Positions, newlines: list[int]) -> int:
    found.lines.setdefault(path, _line(at, newlines))
    if text[at] == "{":
        return _object(text, at + 1, path, found, newlines)
    if text[at] == "[":
        return _array(text, at + 1, path, found, newlines)
    if text[at] == '"':
        return _string_end(text, at)
    match = _SCALAR.match(text, at)
    return match.end() if match else at + 1


def _string_end(text: str, at: int) -> int:
    match = _STRING.match(text, at)
    return match.end() if match else at + 1


def _object(text: str, at: int, path: Path, found: Positions, newlines: list[int]) -> int:
    at = _skip(text, at)
    while text[at] != "}":
        end = _string_end(text, at)
        member = (*path, str(json.loads(text[at:end])))
        line = _line(at, newlines)
        if member in found.lines:
            found.duplicates.append((member, line, found.lines[member]))
        found.lines.setdefault(member, line)
        at = _value(text, _skip(text, _skip(text, end) + 1), member, found, newlines)
        at = _skip(text, at)
        at = _skip(text, at + 1) if text[at] == "," else at
    return at + 1


def _array(text: str, at: int, path: Path, found: Positions, newlines: list[int]) -> int:
    at, index = _skip(text, at), 0
    while text[at] != "]":
        at = _skip(text, _value(text, at, (*path, index), found, newlines))
        at = _skip(text, at + 1) if text[at] == "," else at
        index += 1
    return at + 1
