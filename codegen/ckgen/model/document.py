"""What a document that is read may be, YAML or JSON: how large, how deep, how long its numbers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ckgen.model.diagnostic import Diagnostic, Location

DEEPEST = 64
"""Levels of lists and mappings in one another."""
MOST_DIGITS = 64
"""Of a number."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """`size` in bytes; `values` counts scalars, lists and mappings, and in JSON no keys."""

    size: int
    values: int


YAML = Bounds(8 << 20, 200_000)
"""Of documents that people write."""
JSON = Bounds(64 << 20, 4_000_000)
"""Of documents that programs write, of thousands of instances."""


class DocumentError(ValueError):
    """A document cannot be read: why, in one line, and the line where, 0 for the whole file."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.message, self.line = message, line

    def diagnostic(self, code: str, file: Path | str, hint: str | None = None) -> Diagnostic:
        """The same of a file."""
        return Diagnostic(code, self.message, Location(str(file), self.line), hint=hint)


def read_bytes(path: Path, bounds: Bounds) -> bytes:
    """A file's bytes; DocumentError where it cannot be read or is larger than it may be: no more is read then."""
    try:
        with path.open("rb") as file:
            data = file.read(bounds.size + 1)
    except OSError as error:
        raise DocumentError(f"cannot read: {error.strerror or error}") from error
    if len(data) > bounds.size:
        raise DocumentError(f"cannot read: larger than {bounds.size >> 20} MiB")
    return data


def read_text(path: Path, bounds: Bounds) -> str:
    """The same as text in UTF-8."""
    data = read_bytes(path, bounds)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise DocumentError(f"cannot read: {error}", data.count(b"\n", 0, error.start) + 1) from error


def too_deep(line: int) -> DocumentError:
    """Lists and mappings are nested deeper than anybody writes them."""
    return DocumentError(f"nested deeper than {DEEPEST} levels", line)


def too_many(bounds: Bounds, line: int) -> DocumentError:
    """More values than such a document can have."""
    return DocumentError(f"more than {bounds.values:,} values", line)


def too_long(digits: int, line: int) -> DocumentError:
    """A number that nothing here can be."""
    return DocumentError(f"a number of {digits:,} digits: at most {MOST_DIGITS} are read", line)
