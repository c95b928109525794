"""Hints behind a word that is not known."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """Names the nearest known word, whatever the case of the given one; None where none is near."""
    names = list(known)
    near = get_close_matches(word, names) or get_close_matches(word.lower(), names)
    return f"did you mean '{near[0]}'?" if near else None


def nearest_or_all(word: str, known: Iterable[str]) -> str:
    """The same, or all known words where none is near."""
    names = list(known)
    return did_you_mean(word, names) or f"known: {', '.join(names)}"
