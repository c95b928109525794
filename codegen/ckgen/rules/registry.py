"""Rules by backend: each judges one Config on one arch and says why, with numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ckgen.model.arch import ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.finding import Finding

Check = Callable[[Any, Any, ArchSpec], Finding | None]
"""Takes a signature and a Config of the kind that the rule is about."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule's id, whose Configs it judges, where it comes from, its contract in a line, and the check itself."""

    id: str
    backend: Backend
    source: str
    contract: str
    check: Check


_RULES: dict[str, Rule] = {}


def rule(rule_id: str, *, backend: Backend, source: str) -> Callable[[Check], Check]:
    """Register a check under an id of the form `<backend>.<subject>.<what>`; its docstring is the contract."""

    def register(check: Check) -> Check:
        if rule_id in _RULES or not rule_id.startswith(f"{backend}."):
            raise ValueError(f"rule id '{rule_id}' is taken or not of backend {backend}")
        _RULES[rule_id] = Rule(rule_id, backend, source, (check.__doc__ or "").strip().splitlines()[0], check)
        return check

    return register


def registered() -> tuple[Rule, ...]:
    """Every rule registered so far, by id."""
    return tuple(_RULES[rule_id] for rule_id in sorted(_RULES))


def broken(reason: str, measured: int | float | str, limit: int | float | str) -> Finding:
    """A finding of the rule that is being checked: `judge` fills in its id."""
    return Finding("", reason, measured, limit)


def exceeds(measured: int, limit: int, reason: str) -> Finding | None:
    """A finding if `measured` is above `limit`."""
    return broken(reason, measured, limit) if measured > limit else None


def no_multiple(measured: int, grain: int, reason: str) -> Finding | None:
    """A finding if `measured` is no positive multiple of `grain`."""
    bad = grain <= 0 or measured <= 0 or measured % grain != 0
    return broken(reason, measured, grain) if bad else None


def not_among(measured: str, allowed: tuple[str, ...], reason: str) -> Finding | None:
    """A finding if `measured` is not one of the allowed words."""
    return None if measured in allowed else broken(reason, measured, " ".join(allowed) or "none")


def first(*findings: Finding | None) -> Finding | None:
    """The first finding that there is."""
    return next((finding for finding in findings if finding is not None), None)


def tile_bytes(rows: int, k: int, bits: int) -> int:
    """Bytes of a rows x k tile of packed elements."""
    return rows * k * bits // 8
