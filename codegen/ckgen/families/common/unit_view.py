"""A unit as the templates read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ckgen.model.target import Target


@dataclass(frozen=True, slots=True)
class LookupView:
    """A table that has a header of its own; `rows` are those that it was made of."""

    target: Target
    rows: int
    table: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class UnitView:
    """`key` is ckgen::Signature::pack(), `fields` are the signature's members; `inline_tables` stand in the unit."""

    key: int
    fields: Mapping[str, str]
    instances: Sequence[Mapping[str, Any]]
    lookups: Sequence[LookupView] = ()
    inline_tables: Sequence[Mapping[str, Any]] = ()
