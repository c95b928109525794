"""What checks of rules have in common: a finding where a number or word is over a limit."""

from __future__ import annotations

from ckgen.model.finding import RuleFinding


def broken(reason: str, measured: int | float | str, limit: int | float | str) -> RuleFinding:
    """A finding of the rule that is being checked: its RuleSet fills in the id."""
    return RuleFinding("", reason, measured, limit)


def exceeds(measured: int, limit: int, reason: str) -> RuleFinding | None:
    """A finding if `measured` is above `limit`."""
    return broken(reason, measured, limit) if measured > limit else None


def no_multiple(measured: int, grain: int, reason: str) -> RuleFinding | None:
    """A finding if `measured` is no positive multiple of `grain`."""
    bad = grain <= 0 or measured <= 0 or measured % grain != 0
    return broken(reason, measured, grain) if bad else None


def not_among(measured: str, allowed: tuple[str, ...], reason: str) -> RuleFinding | None:
    """A finding if `measured` is not one of the allowed words."""
    return None if measured in allowed else broken(reason, measured, " ".join(allowed) or "none")


def first(*findings: RuleFinding | None) -> RuleFinding | None:
    """The first finding that there is."""
    return next((finding for finding in findings if finding is not None), None)


def tile_bytes(rows: int, k: int, bits: int) -> int:
    """Bytes of a rows x k tile of packed elements."""
    return rows * k * bits // 8
