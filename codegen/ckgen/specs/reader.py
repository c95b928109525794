"""A strict view of one JSON object: typed reads, each problem kept with its path, unknown keys named."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar

from ckgen.specs.positions import Path

E = TypeVar("E", bound=Enum)
T = TypeVar("T")


_ABSENT = object()


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong at a path; `code` is the diagnostic's."""

    code: str
    path: Path
    message: str
    hint: str | None = None


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """A hint that names the nearest known word, if one is near."""
    near = difflib.get_close_matches(word.lower(), list(known), n=1, cutoff=0.6)
    return f"did you mean '{near[0]}'?" if near else None


class Reader:
    """Reads the members of one object; `done` reports those that nothing has read."""

    def __init__(self, value: object, path: Path, problems: list[Problem]) -> None:
        self.path, self.problems = path, problems
        self.value: Mapping[str, Any] = value if isinstance(value, dict) else {}
        self.expected: set[str] = set()
        self.readable = isinstance(value, dict)
        if not self.readable and value is not _ABSENT:
            self.fail(path, f"expected an object, got {_name(value)}")

    def fail(self, path: Path, message: str, *, code: str = "A005", hint: str | None = None) -> None:
        """Keep a problem."""
        self.problems.append(Problem(code, path, message, hint))

    def _get(self, key: str, required: bool) -> Any:
        self.expected.add(key)
        if key in self.value:
            return self.value[key]
        if required and self.readable:
            self.fail(self.path, f"missing key '{key}'", code="A004", hint=f'add "{key}"')
        return None

    def text(self, key: str, *, required: bool = True) -> str:
        """A non-empty string; empty when absent."""
        got = self._get(key, required)
        if got is None and key not in self.value:
            return ""
        if isinstance(got, str) and got:
            return got
        self.fail((*self.path, key), f"'{key}' must be a non-empty string, got {_name(got)}")
        return ""

    def integer(self, key: str, *, least: int = 1, default: int | None = None) -> int:
        """An integer of at least `least`; a default makes the key optional."""
        got = self._get(key, default is None)
        if key not in self.value:
            return least if default is None else default
        if isinstance(got, int) and not isinstance(got, bool) and got >= least:
            return got
        self.fail((*self.path, key), f"'{key}' must be an integer of at least {least}, got {_name(got)}")
        return least

    def number(self, key: str) -> float:
        """A positive number."""
        got = self._get(key, True)
        if isinstance(got, int | float) and not isinstance(got, bool) and got > 0:
            return float(got)
        if key in self.value:
            self.fail((*self.path, key), f"'{key}' must be a positive number, got {_name(got)}")
        return 1.0

    def flag(self, key: str) -> bool:
        """An optional boolean, false when absent."""
        got = self._get(key, False)
        if key in self.value and not isinstance(got, bool):
            self.fail((*self.path, key), f"'{key}' must be true or false, got {_name(got)}")
        return got is True

    def choice(self, key: str, enum: type[E]) -> E:
        """One of an enum's values."""
        return self._word(self._get(key, True), (*self.path, key), enum, present=key in self.value)

    def nullable_choice(self, key: str, enum: type[E]) -> E | None:
        """One of an enum's values, or null."""
        got = self._get(key, True)
        return None if got is None else self._word(got, (*self.path, key), enum, present=True)

    def _word(self, got: object, path: Path, enum: type[E], *, present: bool) -> E:
        for member in enum:
            if member.value == got:
                return member
        if present:
            words = sorted(str(member.value) for member in enum)
            hint = did_you_mean(got, words) if isinstance(got, str) else None
            self.fail(path, f"'{path[-1]}' must be one of {', '.join(words)}; got {_name(got)}", hint=hint)
        return next(iter(enum))

    def choices(self, key: str, enum: type[E], *, count: int) -> tuple[E, ...]:
        """A list of exactly `count` of an enum's values."""
        return (
            tuple(
                self._word(item, path, enum, present=True) for path, item in self._list(key, count=count, least=count)
            )
            or (next(iter(enum)),) * count
        )

    def words(self, key: str) -> tuple[str, ...]:
        """A list of distinct non-empty strings."""
        found: list[str] = []
        for path, item in self._list(key):
            if not isinstance(item, str) or not item or item in found:
                self.fail(path, f"'{key}' must hold distinct non-empty strings, got {_name(item)}")
            else:
                found.append(item)
        return tuple(found)

    def triple(self, key: str) -> tuple[int, int, int]:
        """Three positive integers."""
        return _triple(self, [item for _, item in self._list(key, count=3)], (*self.path, key))

    def triples(self, key: str) -> tuple[tuple[int, int, int], ...]:
        """A list of triples of positive integers."""
        return tuple(_triple(self, item, path) for path, item in self._list(key))

    def child(self, key: str) -> Reader:
        """A nested object."""
        got = self._get(key, True)
        return Reader(got if key in self.value else _ABSENT, (*self.path, key), self.problems)

    def children(self, key: str, read: Callable[[Reader], T], *, least: int = 0) -> tuple[T, ...]:
        """A list of objects, each read by `read` and then closed."""
        found = []
        for path, item in self._list(key, least=least):
            reader = Reader(item, path, self.problems)
            found.append(read(reader))
            reader.done()
        return tuple(found)

    def _list(self, key: str, *, count: int | None = None, least: int = 0) -> Iterator[tuple[Path, Any]]:
        got = self._get(key, True)
        if key not in self.value:
            return
        if not isinstance(got, list):
            self.fail((*self.path, key), f"'{key}' must be a list, got {_name(got)}")
        elif count is not None and len(got) != count:
            self.fail((*self.path, key), f"'{key}' must hold {count} values, got {len(got)}")
        elif len(got) < least:
            self.fail((*self.path, key), f"'{key}' must not be empty")
        else:
            yield from (((*self.path, key, index), item) for index, item in enumerate(got))

    def done(self) -> None:
        """Report members that nothing asked for."""
        for key in self.value:
            if key not in self.expected:
                hint = did_you_mean(key, self.expected) or f"known keys: {', '.join(sorted(self.expected))}"
                self.fail((*self.path, key), f"unknown key '{key}'", code="A003", hint=hint)


def _triple(reader: Reader, got: object, path: Path) -> tuple[int, int, int]:
    good = isinstance(got, list) and len(got) == 3
    if good and all(isinstance(x, int) and not isinstance(x, bool) and x > 0 for x in got):  # type: ignore[attr-defined]
        return (got[0], got[1], got[2])  # type: ignore[index]
    if got != []:
        reader.fail(path, f"expected three positive integers, got {_name(got)}")
    return (1, 1, 1)


def _name(value: object) -> str:
    text = repr(value) if isinstance(value, str | int | float | bool) or value is None else type(value).__name__
    return {"True": "true", "False": "false", "None": "null", "dict": "an object", "list": "a list"}.get(text, text)
