"""`validate --why-not`: the fate of chosen rows, each with its reason."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from ckgen.plan.model import GenerationPlan
from ckgen.report.rows import RowFate, row_fates

_PLACE = re.compile(r"(?:\./)*(?P<file>.+):(?P<line>[0-9]+)")


def text_of(one: RowFate) -> str:
    """The place and the fate, and below them what the row says."""
    head = f"{one.place}: {one.fate}"
    row = one.row
    if row is None:
        return head
    target = str(row.target or f"{row.cu_num} CUs")
    problem, answer = (target, row.module, row.sizes), (row.library, row.kernel)
    return f"{head}\n  {' '.join(filter(None, problem))}: {' '.join(filter(None, answer))}"


def json_of(one: RowFate) -> dict[str, object]:
    """The same as a JSON object; null for what is not known."""
    row = one.row
    return {
        "source": str(one.place),
        "fate": one.fate.kind.value,
        "reason": one.fate.reason or None,
        "target": str(row.target) if row is not None and row.target is not None else None,
        "module": (row.module or None) if row is not None else None,
        "shape": row.sizes if row is not None else None,
        "library": (row.library or None) if row is not None else None,
        "kernel": row.kernel if row is not None else None,
    }


def matching(plan: GenerationPlan, asked: str) -> list[RowFate]:
    """The row at `FILE:LINE` (the path as shown, or the end of it), else all rows whose kernel name fits the glob."""
    rows = list(row_fates(plan))
    place = _PLACE.fullmatch(asked)
    if place is not None:
        line = int(place["line"])
        found = [one for one in rows if one.place.line == line and _is_named(one.place.file, place["file"])]
        if found:
            return found
    return [one for one in rows if one.row is not None and fnmatchcase(one.row.kernel, asked)]


def _is_named(display: str, asked: str) -> bool:
    shown = display.removeprefix("./")
    return shown == asked or shown.endswith(f"/{asked}") or asked.endswith(f"/{shown}")
