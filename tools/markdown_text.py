"""Lines of the pages that tools write."""

from __future__ import annotations

import textwrap

WIDTH = 120


def wrapped(text: str) -> str:
    """The page with no line of prose or of a list beyond WIDTH columns; rows of tables stay, as markdown wants them."""
    lines = text.split("\n")
    return "\n".join(line if line.startswith("|") or len(line) <= WIDTH else _folded(line) for line in lines)


def _folded(line: str) -> str:
    indent = "  " if line.startswith("- ") else ""
    return textwrap.fill(line, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
