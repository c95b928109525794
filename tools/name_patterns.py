"""Many names as few patterns: names that differ in one word alone are one."""

from __future__ import annotations

from collections.abc import Iterable

Words = tuple[str, ...]
"""A name in parts; empty where it has no such part."""
_Sets = tuple[frozenset[str], ...]


def patterns(names: Iterable[Words]) -> tuple[str, ...]:
    """Patterns that stand for exactly these names, sorted: `{a,b}` is each of its words, `[_c]` may be left out.

    All have as many parts; a part that is not the first begins with what separates it.
    """
    merged: set[_Sets] = {tuple(frozenset([word]) for word in name) for name in names}
    width = len(next(iter(merged), ()))
    before = len(merged) + 1
    while len(merged) < before:
        before = len(merged)
        for at in reversed(range(width)):
            merged = _merged_at(merged, at)
    return tuple(sorted("".join(map(_text, sets)) for sets in merged))


def _merged_at(found: Iterable[_Sets], at: int) -> set[_Sets]:
    alike: dict[_Sets, frozenset[str]] = {}
    for sets in sorted(found, key=lambda one: [sorted(words) for words in one]):
        rest = (*sets[:at], *sets[at + 1 :])
        alike[rest] = alike.get(rest, frozenset()) | sets[at]
    return {(*rest[:at], words, *rest[at:]) for rest, words in alike.items()}


def _text(words: frozenset[str]) -> str:
    said = sorted(words - {""})
    if not said:
        return ""
    text = said[0] if len(said) == 1 else "{" + ",".join(said) + "}"
    return f"[{text}]" if "" in words else text
