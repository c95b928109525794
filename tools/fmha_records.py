"""What the tools that run attention kernels write: a JSON document of their records, and a table of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

_FIGURES = ("vgpr", "spills", "scratch", "lds")
_COLUMNS = ("kernel", "arch", "VGPR", "spills", "scratch", "LDS", "gate", "right", "findings")

Row = Callable[[str, Mapping[str, Any]], str]


def write(place: Path, schema: str, head: str, records: Mapping[str, Any], row: Row) -> None:
    """`place` has the records by key, ARCH/INSTANCE; beside it `head` and a row of each in Markdown."""
    ordered = dict(sorted(records.items()))
    place.write_text(json.dumps({"schema": schema, "kernels": ordered}, indent=1) + "\n", encoding="utf-8")
    rows = [f"| {' | '.join(_COLUMNS)} |", "|---" * len(_COLUMNS) + "|"]
    rows += [row(key, one) for key, one in ordered.items()]
    place.with_suffix(".md").write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")


def cells(key: str, figures: Mapping[str, Any], gate: str, right: str, found: str) -> str:
    """A row of a kernel that was compiled."""
    arch, _, name = key.partition("/")
    numbers = " | ".join(str(figures[one]) for one in _FIGURES)
    return f"| `{name}` | {arch} | {numbers} | {gate} | {right} | {found} |"
