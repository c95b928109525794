"""A fitted rule as a file: the tree, and what it was fitted to."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ckgen.learn.examples import Example
from ckgen.learn.fit import Fitted, Growth
from ckgen.specs.archs import load_arch

_WIDTH = 116


def rule_document(module: str, arch: str, learned: Fitted, rows: Sequence[Example], growth: Growth) -> dict[str, Any]:
    """As parse_rule reads it, for the arch's family, with its provenance."""
    fitted = {
        "rows": len(rows),
        "layers": len({one.group for one in rows}),
        "cu_num": sorted({one.asked.cu_num for one in rows}),
        "libraries": sorted({one.winner.library for one in rows}),
        "files": sorted({Path(one.file).name for one in rows}),
        "growth": asdict(growth),
    }
    return {"families": [load_arch(arch).family], "module": module, "fitted": fitted, **learned}


def write_rule(path: Path, document: Mapping[str, Any]) -> None:
    """One condition or leaf a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_text(document, "") + "\n", encoding="utf-8")


def _text(value: Any, indent: str) -> str:
    """JSON, with what fits on a line on one."""
    short = json.dumps(value)
    if len(indent) + len(short) <= _WIDTH or not isinstance(value, Mapping | list):
        return short
    inner = indent + " "
    if isinstance(value, list):
        return "[\n" + ",\n".join(f"{inner}{_text(member, inner)}" for member in value) + f"\n{indent}]"
    members = (f"{inner}{json.dumps(key)}: {_text(member, inner)}" for key, member in value.items())
    return "{\n" + ",\n".join(members) + f"\n{indent}}}"
