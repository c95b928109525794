"""Where each key and item of a JSON text stands: read only when something is wrong with it."""

from __future__ import annotations

import re
from bisect import bisect
from dataclasses import dataclass, field
from json import JSONDecoder

Path = tuple[str | int, ...]

_BLANK = frozenset(" \t\r\n")
_DECODER = JSONDecoder()


@dataclass(slots=True)
class Positions:
    """Line of every path (an object's member stands where its key stands), and the keys that an object gives twice."""

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
    """Something always follows: a value, or what closes it."""
    while text[at] in _BLANK:
        at += 1
    return at


def _line(at: int, newlines: list[int]) -> int:
    return bisect(newlines, at) + 1


def _value(text: str, at: int, path: Path, found: Positions, newlines: list[int]) -> int:
    """The end of the value that begins at `at`."""
    found.lines.setdefault(path, _line(at, newlines))
    if text[at] == "{":
        return _object(text, at + 1, path, found, newlines)
    if text[at] == "[":
        return _array(text, at + 1, path, found, newlines)
    return _DECODER.raw_decode(text, at)[1]


def _object(text: str, at: int, path: Path, found: Positions, newlines: list[int]) -> int:
    at, own = _skip(text, at), dict[str, int]()
    while text[at] != "}":
        key, end = _DECODER.raw_decode(text, at)
        member, line = (*path, key), _line(at, newlines)
        if key in own:
            found.duplicates.append((member, line, own[key]))
        own.setdefault(key, line)
        found.lines.setdefault(member, line)
        colon = _skip(text, end)
        at = _past_comma(text, _value(text, _skip(text, colon + 1), member, found, newlines))
    return at + 1


def _array(text: str, at: int, path: Path, found: Positions, newlines: list[int]) -> int:
    at, index = _skip(text, at), 0
    while text[at] != "]":
        at = _past_comma(text, _value(text, at, (*path, index), found, newlines))
        index += 1
    return at + 1


def _past_comma(text: str, at: int) -> int:
    """Where the next member or item begins, or what closes them."""
    at = _skip(text, at)
    return _skip(text, at + 1) if text[at] == "," else at
