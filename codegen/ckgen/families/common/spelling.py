"""The right spelling of a canonical name whose words stand in another order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from ckgen.families.common.naming import Canonical
from ckgen.model.dtype import take_dtypes
from ckgen.model.suggestion import meant

_OF_A_WORD = frozenset({"acc", "scale"})
"""Words that a type may stand behind."""


def respelt(
    text: str, words: Sequence[str], ahead: Collection[str], read: Callable[[list[str]], Canonical | None]
) -> str | None:
    """The canonical name that has just the words of `text`; None where they make none.

    `words` are those behind the op's. `read` gets the types, then words of `ahead`, then the others, in any order.
    """
    types, first, rest = _sorted_words(words, ahead)
    found = read([*types, *first, *rest])
    name = found.canonical() if found is not None else ""
    return name if sorted(name.split("_")) == sorted(text.split("_")) else None


def same_words(text: str, known: Collection[str]) -> str | None:
    """The known name that has just these words; None where there is none."""
    words = sorted(text.split("_"))
    return next((name for name in known if sorted(name.split("_")) == words), None)


def hint_of(name: str | None) -> str:
    """What an error says of it; empty where there is none."""
    return f"; {meant(name)}" if name is not None else ""


def _sorted_words(words: Sequence[str], ahead: Collection[str]) -> tuple[list[str], list[str], list[str]]:
    types: list[str] = []
    first: list[str] = []
    rest: list[str] = []
    at = 0
    while at < len(words):
        dtypes, left = take_dtypes(list(words[at:]))
        length = len(words) - at - len(left)
        if dtypes and (at == 0 or words[at - 1] not in _OF_A_WORD):
            types += words[at : at + length]
        else:
            length = 1
            (first if words[at] in ahead else rest).append(words[at])
        at += length
    return types, first, rest
