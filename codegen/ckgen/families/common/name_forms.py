"""Forms of kernel names, written as patterns in data files: compiled once, to read and to write names.

A pattern's pieces: `<MACRO>`, `{field}` (a positive int), `{field:3}` (ints joined by x), `{field=a|b}` (a choice),
`{field?}` (0 or 1), `[field:text]` (a flag that is true where the text stands); everything else is literal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Generic, TypeVar

from ckgen.model.config import Tile

T = TypeVar("T")
Word = Callable[[str, Any], Any]
"""Gives a word of a name or of `fixed` the type of its field, which is named first."""

_INT = "[1-9][0-9]{0,8}"
_TILES = frozenset({"tile", "warp_tile"})
_PIECE = re.compile(
    r"\{(?P<field>\w+)(?::(?P<count>[0-9]+)|=(?P<choices>[\w|]+)|(?P<bit>\?))?\}|\[(?P<flag>\w+):(?P<text>\w+)\]"
)


@dataclass(frozen=True, slots=True)
class _Piece:
    """A literal, or a field with its kind: int, ints, choice, bit, flag."""

    kind: str
    name: str
    count: int = 1
    choices: tuple[str, ...] = ()

    def regex(self) -> str:
        match self.kind:
            case "literal":
                return re.escape(self.name)
            case "flag":
                return f"(?P<{self.name}>{re.escape(self.choices[0])})?"
            case "bit":
                return f"(?P<{self.name}>[01])"
            case "choice":
                return f"(?P<{self.name}>{'|'.join(map(re.escape, self.choices))})"
        return f"(?P<{self.name}>{'x'.join([_INT] * self.count)})"

    def read(self, text: str | None, word: Word) -> object:
        match self.kind:
            case "flag":
                return text is not None
            case "bit":
                return text == "1"
            case "choice":
                return word(self.name, text)
        numbers = tuple(int(digits) for digits in (text or "").split("x"))
        if self.name in _TILES:
            return Tile(*numbers)
        return numbers if self.kind == "ints" else numbers[0]

    def write(self, config: object) -> str:
        if self.kind == "literal":
            return self.name
        value = getattr(config, self.name)
        match self.kind:
            case "flag":
                return self.choices[0] if value else ""
            case "bit":
                return str(int(value))
            case "ints":
                return str(value) if self.name in _TILES else "x".join(map(str, value))
        return str(value)

    def label(self, labels: Mapping[str, list[str]]) -> str:
        match self.kind:
            case "literal":
                return self.name
            case "flag":
                return f"[{self.choices[0]}]"
            case "choice":
                return f"<{'|'.join(self.choices)}>"
            case "bit":
                return f"<{self.name}>"
        return "x".join(f"<{word}>" for word in labels.get(self.name, [self.name] * self.count))


@dataclass(frozen=True, slots=True)
class NameForm(Generic[T]):
    """One form of names, and the dataclass that a name of it fills; `fixed` are the fields that it does not say."""

    config: type[T]
    fixed: Mapping[str, Any]
    pieces: tuple[_Piece, ...]
    regex: re.Pattern[str]
    word: Word

    def parse(self, name: str) -> T | None:
        """What `name` says; None if the name has another form."""
        match = self.regex.fullmatch(name)
        if match is None:
            return None
        values: dict[str, Any] = {piece.name: piece.read(match[piece.name], self.word) for piece in self._named()}
        return self.config(**values, **self.fixed)

    def format(self, config: object) -> str | None:
        """The name of `config`; None if this form cannot say all of its fields."""
        if not isinstance(config, self.config) or any(getattr(config, piece.name) is None for piece in self._named()):
            return None
        name = "".join(piece.write(config) for piece in self.pieces)
        return name if self.parse(name) == config else None

    def hint(self, labels: Mapping[str, list[str]], *, full: bool) -> str:
        """The form for people; cut after the tile unless `full`."""
        words: list[str] = []
        for piece in self.pieces:
            words.append(piece.label(labels))
            if piece.name == "tile" and not full:
                return "".join([*words, "_…"])
        return "".join(words)

    def _named(self) -> list[_Piece]:
        return [piece for piece in self.pieces if _named(piece)]


def name_form(
    pattern: str, macros: Mapping[str, str], config: type[T], fixed: Mapping[str, Any], word: Word
) -> NameForm[T]:
    """The form of a pattern; ValueError where it names a field that `config` does not have."""
    for macro, text in macros.items():
        pattern = pattern.replace(f"<{macro}>", text)
    pieces = tuple(_pieces(pattern))
    unknown = {piece.name for piece in pieces if _named(piece)} | fixed.keys()
    unknown -= {field.name for field in fields(config)}  # type: ignore[arg-type]
    if unknown:
        raise ValueError(f"pattern {pattern}: {config.__name__} has no field {', '.join(sorted(unknown))}")
    given = {name: word(name, value) for name, value in fixed.items()}
    regex = re.compile("".join(piece.regex() for piece in pieces))
    return NameForm(config, given, pieces, regex, word)


def _pieces(pattern: str) -> list[_Piece]:
    pieces: list[_Piece] = []
    end = 0
    for match in _PIECE.finditer(pattern):
        if match.start() > end:
            pieces.append(_Piece("literal", pattern[end : match.start()]))
        end = match.end()
        if match["flag"]:
            pieces.append(_Piece("flag", match["flag"], choices=(match["text"],)))
        elif match["bit"]:
            pieces.append(_Piece("bit", match["field"]))
        elif match["choices"]:
            pieces.append(_Piece("choice", match["field"], choices=tuple(match["choices"].split("|"))))
        elif match["count"]:
            pieces.append(_Piece("ints", match["field"], int(match["count"])))
        else:
            pieces.append(_Piece("int", match["field"]))
    if end < len(pattern):
        pieces.append(_Piece("literal", pattern[end:]))
    return pieces


def _named(piece: _Piece) -> bool:
    return piece.kind != "literal"
