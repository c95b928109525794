"""Generated headers that are checked in: brought up to date, or held against what they are generated from."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path


def keep(text: str, path: Path, source: str, command: str, arguments: Sequence[str]) -> int:
    """With --write among the arguments, makes the file hold the text; without, 1 and a line on stderr if it does not.

    `source` is the data that the text comes from, `command` the one that writes it.
    """
    current = path.read_text(encoding="utf-8") if path.is_file() else None
    if current == text:
        return 0
    if "--write" in arguments:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return 0
    print(f"{path.name} is not what {source} says; run: {command}", file=sys.stderr)
    return 1
