"""Hints behind a word that is not known."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import SequenceMatcher, get_close_matches
from heapq import nsmallest

_WILD = re.compile(r"\[[^]]*\]|[*?]")


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """Names the nearest known word, whatever the case of the given one; None where none is near."""
    names = list(known)
    near = get_close_matches(word, names) or get_close_matches(word.lower(), names)
    return f"did you mean '{near[0]}'?" if near else None


def nearest_or_all(word: str, known: Iterable[str]) -> str:
    """The same, or all known words where none is near."""
    names = list(known)
    return did_you_mean(word, names) or f"known: {', '.join(names)}"


def nearest_names(glob: str, known: Iterable[str], most: int = 3) -> tuple[str, ...]:
    """The names that look most like a glob, of equal ones the first in order; as much of each as the glob tells."""
    told = "".join(part for part in _WILD.split(glob) if part)
    matcher = SequenceMatcher(b=told, autojunk=False)

    def likeness(name: str) -> float:
        matcher.set_seq1(name if _WILD.match(glob) else name[: len(told)])
        return matcher.ratio()

    return tuple(nsmallest(most, known, key=lambda name: (-likeness(name), name))) if told else ()
