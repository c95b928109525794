"""What the columns of a tuned GEMM table mean: how each cell is read, and where it goes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ckgen.model.dtype import TORCH_NAMES
from ckgen.model.module import SplitK

UNKNOWN_LIBRARY = "unknown"
"""The library of a row whose dialect names no kernel."""

TARGET_COLUMNS = ("gfx", "cu_num")
NAME_COLUMN = "kernelName"
LIBRARY_COLUMN = "libtype"
SPLIT_K_COLUMN = "splitK"
TIME_COLUMN = "us"
ERROR_COLUMNS = ("errRatio", "err_ratio")
BATCH_COLUMN = "B"


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a cell cannot be read: a code, what the cell is not, and what was expected."""

    code: str
    complaint: str
    expected: str


Reader = Callable[[str], object]
"""Reads a trimmed, non-empty cell; returns its value or a Problem."""

_DIGITS = re.compile(r"[0-9]+")
_NUMBER = re.compile(r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf|infinity|nan)", re.IGNORECASE)
_ARCH = re.compile(r"gfx[0-9]{1,2}[0-9a-f]{2}|x86_64_[0-9a-z_]+")
_LIBRARY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")
_LARGEST = 2**31 - 1
_LARGEST_LOG2 = 30


def positive(text: str) -> int | Problem:
    """An integer greater than 0 that a problem or a device may have (T005)."""
    if _DIGITS.fullmatch(text) and len(text) < 40 and 0 < int(text) <= _LARGEST:
        return int(text)
    return Problem("T005", "is not an integer greater than 0", "expected a decimal integer from 1 to 2^31 - 1")


def number(text: str) -> float | Problem:
    """A number; inf and NaN are numbers (T008)."""
    if _NUMBER.fullmatch(text):
        return float(text)
    return Problem("T008", "is not a number", "expected a decimal number, inf or nan")


def arch(text: str) -> str | Problem:
    """An arch name: whether it is built for is not asked here (T006)."""
    if _ARCH.fullmatch(text):
        return text
    return Problem("T006", "is not an arch name", "expected a name such as gfx942 or x86_64_v4")


def one_of(values: Mapping[str, object]) -> Reader:
    """A reader of a closed set of words (T006)."""
    listing = "expected one of: " + ", ".join(values)

    def read(text: str) -> object:
        return values[text] if text in values else Problem("T006", "is not a known value", listing)

    return read


def library(generated: tuple[str, ...]) -> Reader:
    """A reader of library names: any word, but no other spelling of a library that ckgen builds (T006)."""
    plain = {_plain(name): name for name in generated}

    def read(text: str) -> object:
        own = plain.get(_plain(text), text)
        if own == text and _LIBRARY.fullmatch(text):
            return text
        wanted = f"the spelling {own!r}" if own != text else "a library name such as ck, cktile, asm or flydsl"
        return Problem("T006", "is not a known value", f"expected {wanted}")

    return read


def k_batch(meaning: SplitK, text: str) -> int | Problem | None:
    """How many K splits a trimmed `splitK` cell means; empty reads as 0, None: the kernel decides (T008)."""
    value = number(text or "0")
    if isinstance(value, Problem):
        return value
    if meaning is SplitK.IGNORED:
        return 1
    largest = _LARGEST_LOG2 if meaning is SplitK.LOG2 else _LARGEST
    if not (0 <= value <= largest and value.is_integer()):
        what = "log2 of the K batch" if meaning is SplitK.LOG2 else "a count of K splits"
        return Problem("T008", f"is not {what}", f"expected an integer from 0 to {largest}")
    if meaning is SplitK.LOG2:
        return 1 << int(value)
    return int(value) or None


def _plain(name: str) -> str:
    return re.sub(r"[^0-9a-z]", "", name.lower())


_BOOL = one_of({"True": True, "False": False})
_DTYPE = one_of(TORCH_NAMES)

INTEGER_KEYS: Mapping[str, Reader] = {"cu_num": positive, "B": positive, "M": positive, "N": positive, "K": positive}

DISCRIMINATORS: Mapping[str, tuple[str, Reader]] = {
    "q_dtype_w": ("weight_dtype", _DTYPE),
    "dtype": ("in_dtype", _DTYPE),
    "outdtype": ("out_dtype", _DTYPE),
    "bias": ("bias", _BOOL),
    "scaleAB": ("scale_ab", _BOOL),
    "bpreshuffle": ("preshuffle_b", _BOOL),
}
"""Column → field of `Discriminators`, and how its cells are read."""

KEY_COLUMNS: Mapping[str, Reader] = {
    "gfx": arch,
    **INTEGER_KEYS,
    **{column: reader for column, (_, reader) in DISCRIMINATORS.items()},
}
"""Every column that may decide which row answers: none of those that a header has may be empty."""
