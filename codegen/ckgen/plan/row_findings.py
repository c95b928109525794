"""What is said of rows that answer nothing, and when a time is not believed; alike for every kind of row."""

from __future__ import annotations

import math

from ckgen.model.diagnostic import Diagnostic, Location, Severity
from ckgen.model.fate import Fate, FateKind

SELECTING_NOTHING = (FateKind.UNAVAILABLE, FateKind.REFUSED_MEASUREMENT)


def no_time(us: float | None) -> str | None:
    """Why microseconds are no time; None where they are one, or none are said."""
    return f"us = {us:g}" if us is not None and not (math.isfinite(us) and us > 0) else None


def beyond_peak(operations: int, us: float | None, peak: float | None) -> str | None:
    """By how much a time beats the chip's peak, in operations per second; None where not, or either is not known."""
    share = operations / (us * 1e-6) / peak if us and peak else 0
    return f"{share:.2f} times the peak rate" if share > 1 else None


def overridden(place: Location, by: Location, detail: tuple[str, ...] = (), *, strict: bool) -> Diagnostic:
    """P001: a later layer's row answers instead; an error where layers are strict."""
    return Diagnostic(
        code="P001",
        message="row is overridden by a later layer",
        location=place,
        related=(by,),
        detail=detail,
        hint="leave out --strict-layers to allow it" if strict else None,
        severity=Severity.ERROR if strict else Severity.NOTE,
    )


def selects_nothing(fate: Fate, place: Location, detail: str, *, strict: bool) -> Diagnostic:
    """P002 of a row that nothing can run, an error where rows are strict; P003 of one that is not believed."""
    unavailable = fate.kind is FateKind.UNAVAILABLE
    severity = Severity.ERROR if strict else Severity.WARNING
    return Diagnostic(
        code="P002" if unavailable else "P003",
        message=f"row selects nothing: {fate}",
        location=place,
        detail=(detail,),
        severity=severity if unavailable else Severity.NOTE,
    )
