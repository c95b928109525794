"""The toolchain's errors, each with a code, its place and what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ckgen.model.diagnostic import Diagnostic, Location
from ckgen.model.errors import InputError


def toolchain_error(
    code: str, message: str, place: Path | None = None, *, hint: str | None = None, detail: Sequence[str] = ()
) -> InputError:
    """An InputError (exit 3) with one finding; docs/errors.md lists the codes X001 and on."""
    where = Location(str(place)) if place is not None else None
    return InputError([Diagnostic(code, message, where, detail=tuple(detail), hint=hint)])
