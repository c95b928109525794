"""What became of a row: exactly one fate, the first that applies."""

from __future__ import annotations

from typing import NamedTuple

from ckgen.model.diagnostic import Location
from ckgen.model.word import Word


class FateKind(Word):
    """The words that users see. `unavailable(ambiguous_target)` is tried before `other_target`, other reasons last."""

    INVALID = "invalid"
    UNKNOWN_TABLE = "unknown_table"
    SHAPE_LIST = "shape_list"
    OTHER_OP = "other_op"
    OTHER_TARGET = "other_target"
    REFUSED_MEASUREMENT = "refused_measurement"
    OVERRIDDEN = "overridden"
    DUPLICATE_IDENTICAL = "duplicate_identical"
    LEFT_OUT = "left_out"
    EXTERNAL = "external"
    UNAVAILABLE = "unavailable"
    DEFAULT = "default"
    SELECTED = "selected"


class Fate(NamedTuple):
    """A row's end: the kind, the reason in brackets (library, rule and numbers, code), and the row's place."""

    kind: FateKind
    location: Location
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.kind.value}({self.reason})" if self.reason else self.kind.value
