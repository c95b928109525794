"""What single values of an arch spec may be: the `$defs` of arch_specs/schema.json, for the loader as for editors."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from ckgen import paths

SCHEMA_FILE = "schema.json"


@dataclass(frozen=True, slots=True)
class Numbers:
    """Numbers of a range whose ends belong to it, but for a `least` that is excluded."""

    least: float
    most: float
    above_least: bool

    def holds(self, value: float) -> bool:
        """Whether a number is one of them."""
        return (self.least < value if self.above_least else self.least <= value) and value <= self.most

    def __str__(self) -> str:
        return f"above {self.least}, at most {self.most}" if self.above_least else f"{self.least} to {self.most}"


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts of a pattern, up to a length; the description says which in words."""

    pattern: re.Pattern[str]
    longest: int
    description: str

    def holds(self, value: str) -> bool:
        """Whether a text is one of them; a newline behind it is part of it."""
        return len(value) <= self.longest and self.pattern.fullmatch(value) is not None

    def __str__(self) -> str:
        return f"{self.description}, at most {self.longest} characters"


@cache
def numbers(kind: str) -> Numbers:
    """The numbers of a definition."""
    found = _definitions()[kind]
    if "exclusiveMinimum" in found:
        return Numbers(found["exclusiveMinimum"], found["maximum"], above_least=True)
    return Numbers(found["minimum"], found["maximum"], above_least=False)


@cache
def texts(kind: str) -> Texts:
    """The texts of a definition."""
    found = _definitions()[kind]
    return Texts(re.compile(found["pattern"]), found["maxLength"], found["description"])


@cache
def _definitions() -> Any:
    return json.loads((paths.arch_specs_dir() / SCHEMA_FILE).read_text(encoding="utf-8"))["$defs"]
