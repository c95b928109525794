"""The numbers of tokens that shapes are asked for."""

from __future__ import annotations

import re

from ckgen.families.common.m_policy import Rounding, rounded_m
from ckgen.families.registry import FAMILIES
from ckgen.model.errors import UsageError
from ckgen.model.suggestion import nearest_or_all

_NAMED = re.compile(r"([a-z][a-z0-9_]*):([0-9]{1,7})")
_POWERS = "pow2"


def ladder(text: str) -> tuple[int, ...]:
    """The distinct M of a list as in `1,2,4`, of `pow2:MAX`, or of the steps of a rounding of the peer's up to MAX, as
    in `gl0:80000`; rising. UsageError for another text.
    """
    found: set[int] = set()
    for word in filter(None, (word.strip() for word in text.split(","))):
        found |= _sizes(word)
    if not found or min(found) < 1:
        raise UsageError(f"--m takes sizes of at least 1, {_POWERS}:MAX or a rounding such as gl0:MAX; got '{text}'")
    return tuple(sorted(found))


def _sizes(word: str) -> set[int]:
    if word.isdecimal() and len(word) < 8:
        return {int(word)}
    named = _NAMED.fullmatch(word)
    if named is None:
        raise UsageError(f"--m: '{word}' is neither a size nor NAME:MAX, as in {_POWERS}:16384")
    name, most = named[1], int(named[2])
    if name == _POWERS:
        return {1 << power for power in range(most.bit_length())}
    roundings = _roundings()
    if name not in roundings:
        raise UsageError(f"--m: unknown ladder '{name}', {nearest_or_all(name, (_POWERS, *roundings))}")
    steps = {rounded_m(roundings[name], m) for m in range(1, most + 1)}
    return {step for step in steps if step is not None and step <= most}


def _roundings() -> dict[str, Rounding]:
    return {name: rounding for family in FAMILIES.values() for name, rounding in family.roundings.items()}
