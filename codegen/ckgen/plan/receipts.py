"""The numbered receipts of CK's generator as names of profiles: what is in `receipts.yaml`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ckgen.model.errors import UsageError

PREFIX = "receipt:"
_FILE = Path(__file__).with_name("receipts.yaml")


@dataclass(frozen=True, slots=True)
class Receipt:
    """Numbers `first` to `last` mean these profiles; none: `why` says why not. `named` is upstream's word."""

    first: int
    last: int
    named: str
    profiles: tuple[str, ...]
    why: str

    @property
    def numbers(self) -> str:
        """`4`, or `100-199`."""
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


@cache
def receipts() -> tuple[Receipt, ...]:
    """All, ascending."""
    import yaml

    entries: list[dict[str, Any]] = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    return tuple(
        Receipt(
            first=one["from"],
            last=one.get("to", one["from"]),
            named=one["named"],
            profiles=tuple(one.get("profiles", ())),
            why=one.get("why", ""),
        )
        for one in entries
    )


def receipt_words() -> tuple[str, ...]:
    """Every `receipt:N` that has profiles."""
    numbers = (number for one in receipts() if one.profiles for number in range(one.first, one.last + 1))
    return tuple(f"{PREFIX}{number}" for number in numbers)


def profiles_of_receipt(text: str) -> tuple[str, ...]:
    """The profiles of `receipt:N`; UsageError for one that has none, by its name, and for what is no number."""
    number = text.removeprefix(PREFIX)
    found = [one for one in receipts() if number.isdecimal() and one.first <= int(number) <= one.last]
    if not found:
        known = ", ".join(one.numbers for one in receipts() if one.profiles)
        raise UsageError(f"CK's receipt '{number}' is not known (known: {known})")
    if not found[0].profiles:
        raise UsageError(f"CK's receipt {number}, {found[0].named}, is no profile here: {found[0].why}")
    return found[0].profiles
