"""A strict view of one JSON object: typed reads, each error kept with its path, unknown keys named.

The `kind` of a read is a definition of arch_specs/schema.json.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar

from ckgen.model.json_positions import Path
from ckgen.model.suggestion import did_you_mean
from ckgen.specs.kinds import numbers, texts

E = TypeVar("E", bound=Enum)
T = TypeVar("T")


_ABSENT = object()
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class SpecError:
    """Something wrong at a path; `code` is the diagnostic's."""

    code: str
    path: Path
    message: str
    hint: str | None = None


class Reader:
    """Reads the members of one object; `done` reports those that nothing has read."""

    def __init__(self, value: object, path: Path, errors: list[SpecError]) -> None:
        self.path, self.errors = path, errors
        self.value: Mapping[str, Any] = value if isinstance(value, dict) else {}
        self.expected: set[str] = set()
        self.readable = isinstance(value, dict)
        if not self.readable and value is not _ABSENT:
            self.fail(path, f"expected an object, got {_name(value)}")

    def fail(self, path: Path, message: str, *, code: str = "A005", hint: str | None = None) -> None:
        """Keep an error."""
        self.errors.append(SpecError(code, path, message, hint))

    def _get(self, key: str, required: bool) -> Any:
        self.expected.add(key)
        if key in self.value:
            return self.value[key]
        if required and self.readable:
            self.fail(self.path, f"missing key '{key}'", code="A004", hint=f'add "{key}"')
        return None

    def text(self, key: str, kind: str) -> str:
        """A text of that kind; empty when absent or of another."""
        got = self._get(key, True)
        return self._text(got, (*self.path, key), kind) if key in self.value else ""

    def _text(self, got: object, path: Path, kind: str) -> str:
        wanted = texts(kind)
        if isinstance(got, str) and wanted.holds(got):
            return got
        name = next(part for part in reversed(path) if isinstance(part, str))
        self.fail(path, f"'{name}' must be {wanted}; got {_name(got)}")
        return ""

    def keys(self, kind: str) -> tuple[str, ...]:
        """The object's own keys, all of them asked for, which must be of that kind."""
        for key in self.value:
            if not texts(kind).holds(key):
                self.fail((*self.path, key), f"key {_name(key)} must be {texts(kind)}")
        return tuple(self.value)

    def integer(self, key: str, kind: str, *, default: int | None = None) -> int:
        """An integer of that kind; a default makes the key optional."""
        wanted = numbers(kind)
        got = self._get(key, default is None)
        if key not in self.value:
            return int(wanted.least) if default is None else default
        if _is_integer(got) and wanted.holds(got):
            return int(got)
        self.fail((*self.path, key), f"'{key}' must be an integer of {wanted}, got {_name(got)}")
        return int(wanted.least)

    def number(self, key: str, kind: str) -> float:
        """A number of that kind."""
        got = self._get(key, True)
        if isinstance(got, int | float) and not isinstance(got, bool) and numbers(kind).holds(got):
            return float(got)
        if key in self.value:
            self.fail((*self.path, key), f"'{key}' must be a number {numbers(kind)}, got {_name(got)}")
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

    def words(self, key: str, kind: str, *, required: bool = True) -> tuple[str, ...]:
        """A list of distinct texts of that kind; where it is not required, none when absent."""
        found: list[str] = []
        if not required and self._get(key, False) is None and key not in self.value:
            return ()
        for path, item in self._list(key):
            if isinstance(item, str) and item in found:
                self.fail(path, f"'{key}' has {_name(item)} twice")
            else:
                found.append(self._text(item, path, kind))
        return tuple(found)

    def triple(self, key: str, kind: str) -> tuple[int, int, int]:
        """Three integers of that kind."""
        items = [item for _, item in self._list(key, count=3)]
        return _triple(self, items, (*self.path, key), kind) if items else (1, 1, 1)

    def triples(self, key: str, kind: str) -> tuple[tuple[int, int, int], ...]:
        """A list of triples of integers of that kind."""
        return tuple(_triple(self, item, path, kind) for path, item in self._list(key))

    def integers(self, key: str, kind: str) -> tuple[int, ...]:
        """A list of integers of that kind; none when absent."""
        if self._get(key, False) is None and key not in self.value:
            return ()
        found = []
        for path, item in self._list(key):
            if _is_integer(item) and numbers(kind).holds(item):
                found.append(int(item))
            else:
                self.fail(path, f"'{key}' must hold integers of {numbers(kind)}, got {_name(item)}")
        return tuple(found)

    def child(self, key: str) -> Reader:
        """A nested object."""
        got = self._get(key, True)
        return Reader(got if key in self.value else _ABSENT, (*self.path, key), self.errors)

    def children(self, key: str, read: Callable[[Reader], T], *, least: int = 0) -> tuple[T, ...]:
        """A list of objects, each read by `read` and then closed."""
        found = []
        for path, item in self._list(key, least=least):
            reader = Reader(item, path, self.errors)
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


def _triple(reader: Reader, got: object, path: Path, kind: str) -> tuple[int, int, int]:
    if isinstance(got, list) and len(got) == 3 and all(_is_integer(x) and numbers(kind).holds(x) for x in got):
        return (got[0], got[1], got[2])
    reader.fail(path, f"expected three integers of {numbers(kind)}, got {_name(got)}")
    return (1, 1, 1)


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _name(value: object) -> str:
    text = repr(value) if isinstance(value, str | int | float | bool) or value is None else type(value).__name__
    words = {"True": "true", "False": "false", "None": "null", "dict": "an object", "list": "a list"}
    return words.get(text, text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
