"""Keys of signatures: what ckgen::Signature::pack() computes, of the same fields at the same bits."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from typing import Any

from ckgen.families.common.key_fields import FIELDS, SIZES
from ckgen.model.op_words import ABSENT, CODES
from ckgen.model.word import Word

_STEP = re.compile(r"(.*)\.ops\[(\d)\]")


@dataclass(frozen=True, slots=True)
class KeyField:
    """A field of signatures by C++'s name; `kind` is an enum, sizes or `flag`, `of` are the ops whose keys hold it."""

    name: str
    kind: str
    at: int
    bits: int
    of: tuple[str, ...]

    def value(self, signature: object) -> Any:
        """A member, a number, a flag; None where there is none."""
        return _getter(self.name)(signature)

    def code(self, signature: object) -> int:
        """Its number in keys; of a size that its list does not have, the one that no list has."""
        value = self.value(signature)
        if value is None:
            return ABSENT[self.kind]
        if self.kind in SIZES:
            return SIZES[self.kind].index(value) if value in SIZES[self.kind] else (1 << self.bits) - 1
        if self.kind not in CODES:
            return int(value)
        return CODES[self.kind][value._value_ if isinstance(value, Word) else value]


KEY_FIELDS = {field[0]: KeyField(*field) for field in FIELDS}


@cache
def _getter(name: str) -> Callable[[object], Any]:
    step = _STEP.fullmatch(name)
    if step is None:
        return attrgetter(name)
    steps_of, at = attrgetter(step[1]), int(step[2])

    def nth(signature: object) -> object:
        steps = steps_of(signature)
        return steps[at] if at < len(steps) else None

    return nth


def pack(signature: object) -> int:
    """ckgen::Signature::pack()."""
    op = str(KEY_FIELDS["op"].value(signature))
    return sum(field.code(signature) << field.at for field in KEY_FIELDS.values() if op in field.of)


def text_of(value: object) -> str:
    """A field's value as names and sentences say it."""
    return "none" if value is None else str(value.value if isinstance(value, Word) else value)
