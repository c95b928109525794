"""A Makefile-style dependency file: one rule, from a stamp to everything that was read."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def depfile_text(stamp: Path, inputs: Iterable[Path]) -> str:
    """`stamp: inputs…` with absolute, escaped paths, sorted."""
    sources = sorted({_escape(path.resolve()) for path in inputs})
    return f"{_escape(stamp)}: \\\n  " + " \\\n  ".join(sources) + "\n"


def _escape(path: Path) -> str:
    return str(path).replace("\\", "\\\\").replace(" ", "\\ ").replace("#", "\\#").replace("$", "$$")
