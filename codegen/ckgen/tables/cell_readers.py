"""How a cell is read: its value, or why it has none; and the names of columns that tables of several kinds have."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

UNKNOWN_LIBRARY = "unknown"
"""The library of a row whose dialect names no kernel."""

TARGET_COLUMNS = ("gfx", "cu_num")
SKU_COLUMN = "sku"
"""The product, where a row answers for one of several with the count; a table may lack it, and a row leave it empty."""
NAME_COLUMN = "kernelName"
LIBRARY_COLUMN = "libtype"
SPLIT_K_COLUMN = "splitK"
TIME_COLUMN = "us"


@dataclass(frozen=True, slots=True)
class CellError:
    """Why a cell cannot be read: a code, what the cell is not, and what was expected."""

    code: str
    complaint: str
    expected: str


@dataclass(frozen=True, slots=True)
class UnknownWord:
    """A cell that has the form of an enum's member, and is none that is known: what its row is about cannot be said."""

    text: str


Reader = Callable[[str], object]
"""Reads a trimmed, non-empty cell; returns its value, a CellError, or an UnknownWord."""

_DIGITS = re.compile(r"[0-9]+")
_NUMBER = re.compile(r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf|infinity|nan)", re.IGNORECASE)
_ARCH = re.compile(r"gfx[0-9]{1,2}[0-9a-f]{2}|sm_[0-9]{2,3}[a-z]?|x86_64_[0-9a-z_]+")
_SKU = re.compile(r"[a-z0-9]{1,64}")
LARGEST = 2**31 - 1
"""Of an integer that a problem or a device may have."""


def positive(text: str) -> int | CellError:
    """An integer greater than 0 that a problem or a device may have (T005)."""
    if _DIGITS.fullmatch(text) and len(text) < 40 and 0 < int(text) <= LARGEST:
        return int(text)
    return CellError("T005", "is not an integer greater than 0", "expected a decimal integer from 1 to 2^31 - 1")


def number(text: str) -> float | CellError:
    """A number; inf and NaN are numbers (T008)."""
    if _NUMBER.fullmatch(text):
        return float(text)
    return CellError("T008", "is not a number", "expected a decimal number, inf or nan")


def arch(text: str) -> str | CellError:
    """An arch name: whether it is built for is not asked here (T006)."""
    if _ARCH.fullmatch(text):
        return text
    return CellError("T006", "is not an arch name", "expected a name such as gfx942 or x86_64_v4")


def sku(text: str) -> str | CellError:
    """A product as targets name it: whether its arch has it is not asked here (T006)."""
    if _SKU.fullmatch(text):
        return text
    return CellError("T006", "is not a product's word", "expected small letters and digits, as in h200")


def member_of(enum: str, values: Mapping[str, object]) -> Reader:
    """A reader of an open set of words `ENUM.Member`: those that are not among `values` are UnknownWords (T006)."""
    form = re.compile(rf"{re.escape(enum)}\.[A-Za-z_][A-Za-z0-9_]*")
    known = one_of(values)

    def read(text: str) -> object:
        return UnknownWord(text) if text not in values and form.fullmatch(text) else known(text)

    return read


def without_unknown(fields: Mapping[str, object]) -> dict[str, Any]:
    """Fields of Discriminators: in place of those with an UnknownWord, what the words are as `unknown`."""
    words = [value.text for value in fields.values() if isinstance(value, UnknownWord)]
    known = {name: value for name, value in fields.items() if not isinstance(value, UnknownWord)}
    return known | {"unknown": ", ".join(words)} if words else known


def one_of(values: Mapping[str, object]) -> Reader:
    """A reader of a closed set of words (T006)."""
    listing = "expected one of: " + ", ".join(values)

    def read(text: str) -> object:
        return values[text] if text in values else CellError("T006", "is not a known value", listing)

    return read
