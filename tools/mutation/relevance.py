"""Which tests are likely to notice a change: those whose files share words of their names with the changed file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

_SAY_NOTHING = {"test", "host", "ckgen"}


def related(changed: str, test: str) -> int:
    """How many words the names of two files share."""
    return len(_words(changed) & _words(test))


def most_related_first(changed: str, tests: Sequence[str], seconds: Mapping[str, float] | None = None) -> list[str]:
    """Quick ones first among equals, else in the order given."""
    return sorted(tests, key=lambda test: (-related(changed, test), seconds[test] if seconds else 0))


def _words(file: str) -> set[str]:
    return set(Path(file).name.split(".")[0].split("_")) - _SAY_NOTHING
