"""Kernel names of the peer's tables: the grammars of grammars.json, compiled once, to read and to write names.

A pattern's pieces: `<MACRO>`, `{field}` (a positive int), `{field:3}` (ints joined by x), `{field=a|b}` (a choice),
`{field?}` (0 or 1), `[field:text]` (a flag that is true where the text stands); everything else is literal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from ckgen.families.gemm.asm_config import ASM, AsmConfig
from ckgen.families.gemm.asm_kernels import asm_kernel_of, asm_kernels
from ckgen.families.gemm.config import (
    CkBlockScaleConfig,
    CkPreshuffledConfig,
    CkRowwiseConfig,
    CkTileConfig,
    Scheduler,
    TilePipeline,
)
from ckgen.model.backend import Backend
from ckgen.model.config import Tile

NamedConfig = CkRowwiseConfig | CkBlockScaleConfig | CkPreshuffledConfig | CkTileConfig

_INT = "[1-9][0-9]{0,8}"
_CONFIGS: Mapping[str, type[NamedConfig]] = {
    kind.__name__: kind for kind in (CkRowwiseConfig, CkBlockScaleConfig, CkPreshuffledConfig, CkTileConfig)
}
_TILES = frozenset({"tile", "warp_tile"})
_PIECE = re.compile(
    r"\{(?P<field>\w+)(?::(?P<count>[0-9]+)|=(?P<choices>[\w|]+)|(?P<bit>\?))?\}|\[(?P<flag>\w+):(?P<text>\w+)\]"
)


@dataclass(frozen=True, slots=True)
class Identified:
    """What a kernel name says: the Config and who builds it."""

    config: NamedConfig | AsmConfig
    backend: Backend


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

    def read(self, text: str | None) -> object:
        match self.kind:
            case "flag":
                return text is not None
            case "bit":
                return text == "1"
            case "choice":
                return _choice(self.name, text)
        numbers = tuple(int(digits) for digits in (text or "").split("x"))
        if self.name in _TILES:
            return Tile(*numbers)
        return numbers if self.kind == "ints" else numbers[0]

    def write(self, config: NamedConfig) -> str:
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
class Grammar:
    """One kernel-name form: which modules and library use it, and what it makes."""

    modules: tuple[str, ...]
    library: str
    backend: Backend
    config: type[NamedConfig]
    fixed: Mapping[str, Any]
    pieces: tuple[_Piece, ...]
    regex: re.Pattern[str]

    def parse(self, name: str) -> NamedConfig | None:
        """The Config that `name` says; None if the name has another form."""
        match = self.regex.fullmatch(name)
        if match is None:
            return None
        values: dict[str, Any] = {piece.name: piece.read(match[piece.name]) for piece in self._named()}
        return self.config(**values, **self.fixed)

    def format(self, config: NamedConfig) -> str | None:
        """The name of `config`; None if this form cannot say all of its fields."""
        if not isinstance(config, self.config) or any(getattr(config, piece.name) is None for piece in self._named()):
            return None
        name = "".join(piece.write(config) for piece in self.pieces)
        return name if self.parse(name) == config else None

    def _named(self) -> list[_Piece]:
        return [piece for piece in self.pieces if _named(piece)]

    def hint(self, *, full: bool) -> str:
        """The form for people; cut after the tile unless `full`."""
        words: list[str] = []
        for piece in self.pieces:
            words.append(piece.label(_labels()))
            if piece.name == "tile" and not full:
                return "".join([*words, "_…"])
        return "".join(words)


@cache
def grammars() -> tuple[Grammar, ...]:
    """Every kernel-name form."""
    return tuple(_grammar(entry, _data()["macros"]) for entry in _data()["grammars"])


@cache
def identify(module: str, library: str, kernel_name: str) -> Identified | None:
    """What a kernel name says in a table of `module`; None if it has no form of that module and library.

    Names of the library `asm` have no form: known are those of the kernels that AMD ships for the module.
    """
    if library == ASM:
        shipped = asm_kernels().get(kernel_name)
        return Identified(shipped.config, Backend.ASM) if shipped is not None and shipped.module == module else None
    for grammar in grammars():
        if module in grammar.modules and library == grammar.library:
            config = grammar.parse(kernel_name)
            if config is not None:
                return Identified(config, grammar.backend)
    return None


@cache
def fits(kernel_name: str) -> frozenset[str]:
    """The modules whose tables may hold this name."""
    return frozenset(
        module for grammar in grammars() if grammar.regex.fullmatch(kernel_name) for module in grammar.modules
    )


def table_name(module: str, config: NamedConfig | AsmConfig) -> str | None:
    """The name that a table of `module` gives to `config`; None if it has no name there."""
    if isinstance(config, AsmConfig):
        shipped = asm_kernel_of(config)
        return shipped.symbol if shipped.module == module else None
    names = (grammar.format(config) for grammar in grammars() if module in grammar.modules)
    return next((name for name in names if name is not None), None)


def describe_grammar(module: str, *, full: bool = False) -> str:
    """The forms of a module's kernel names for an error hint, joined by `or`; empty for a module without any."""
    return " or ".join(grammar.hint(full=full) for grammar in grammars() if module in grammar.modules)


@cache
def _data() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(Path(__file__).with_name("grammars.json").read_text(encoding="utf-8"))
    return data


def _labels() -> Mapping[str, list[str]]:
    labels: Mapping[str, list[str]] = _data()["labels"]
    return labels


def _grammar(entry: Mapping[str, Any], macros: Mapping[str, str]) -> Grammar:
    pattern: str = entry["pattern"]
    for macro, text in macros.items():
        pattern = pattern.replace(f"<{macro}>", text)
    config = _CONFIGS[entry["config"]]
    pieces = tuple(_pieces(pattern))
    fixed = {name: _choice(name, value) for name, value in entry.get("fixed", {}).items()}
    unknown = {piece.name for piece in pieces if _named(piece)} | fixed.keys()
    unknown -= {field.name for field in fields(config)}
    if unknown:
        raise ValueError(f"grammars.json: {config.__name__} has no field {', '.join(sorted(unknown))}")
    regex = re.compile("".join(piece.regex() for piece in pieces))
    return Grammar(tuple(entry["modules"]), entry["library"], Backend(entry["backend"]), config, fixed, pieces, regex)


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


def _choice(field: str, value: Any) -> Any:
    """A word of a name or of `fixed` as the field's type."""
    if field == "scheduler":
        return None if value is None else Scheduler(value)
    if field == "pipeline":
        return int(value) if str(value).isdigit() else TilePipeline(value)
    return value
