"""Hints behind a word that is not known."""

from __future__ import annotations

import re
from collections.abc import Iterable
from heapq import nsmallest

_WILD = re.compile(r"\[[^]]*\]|[*?]")


def meant(name: str) -> str:
    """The sentence that names the right word."""
    return f"did you mean '{name}'?"


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The nearest known word, whatever the case of the given one; None where none is near."""
    from difflib import get_close_matches

    names = list(known)
    near = get_close_matches(word, names, n=1) or get_close_matches(word.lower(), names, n=1)
    return near[0] if near else None


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """Names the nearest known word; None where none is near."""
    near = nearest(word, known)
    return meant(near) if near is not None else None


def nearest_or_all(word: str, known: Iterable[str]) -> str:
    """The same, or all known words where none is near."""
    names = list(known)
    return did_you_mean(word, names) or f"known: {', '.join(names)}"


def nearest_names(glob: str, known: Iterable[str], most: int = 3) -> tuple[str, ...]:
    """The names that look most like a glob, of equal ones the first in order; as much of each as the glob tells."""
    from difflib import SequenceMatcher

    told = "".join(part for part in _WILD.split(glob) if part)
    matcher = SequenceMatcher(b=told, autojunk=False)

    def likeness(name: str) -> float:
        matcher.set_seq1(name if _WILD.match(glob) else name[: len(told)])
        return matcher.ratio()

    return tuple(nsmallest(most, known, key=lambda name: (-likeness(name), name))) if told else ()
