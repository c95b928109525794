"""A unit as the templates read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ckgen.model.target import Target


@dataclass(frozen=True, slots=True)
class LookupView:
    """A table that has a header of its own."""

    target: Target
    table: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class InstanceView:
    """`number` is its enumerator, `of` the arguments of ckgen::describe::instance, `words` what is said of it then."""

    number: str
    of: str
    words: Sequence[str]


@dataclass(frozen=True, slots=True)
class OwnWords:
    """What an operation's units say beside ckgen/describe_unit.hpp: the words of a header, and of tables that stand in
    the unit their C++ types and what a comment says of their rungs."""

    header: str = ""
    words: Sequence[str] = ()
    table: str = ""
    rung: str = ""
    rungs_are: str = ""


@dataclass(frozen=True, slots=True)
class UnitView:
    """`key` is ckgen::Signature::pack(), `words` say the signature. Tables of a kind of the operation's own have a
    `symbol`, `rungs` in words, and `of`, the word that makes one of them. `predicted`: per arch and instance, the
    numbers of its ckgen::KernelWork."""

    key: int
    words: Sequence[str]
    instances: Sequence[InstanceView]
    lookups: Sequence[LookupView] = ()
    own: OwnWords = OwnWords()
    own_tables: Sequence[Mapping[str, Any]] = ()
    predicted: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
