"""A unit as the templates read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
class UnitView:
    """`key` is ckgen::Signature::pack(), `words` say the signature; `inline_tables` stand in the unit."""

    key: int
    words: Sequence[str]
    instances: Sequence[InstanceView]
    lookups: Sequence[LookupView] = ()
    inline_tables: Sequence[Mapping[str, Any]] = ()
