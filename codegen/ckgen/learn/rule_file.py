"""A fitted rule as a file: the tree, and what it was fitted to."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ckgen.learn.examples import Example
from ckgen.learn.growth import Fitted, Growth
from ckgen.model.arch import CPU_LEVELS, ArchKind
from ckgen.specs.archs import load_arch

_WIDTH = 116
_SAME_CODE = {"gemm_fp32_rcr": "x86_64_v4"}
"""Signatures whose kernels are the same on every CPU of a level or above."""


def rule_document(
    subject: str, arch: str, learned: Fitted, rows: Sequence[Example], growth: Growth, provenance: Mapping[str, Any]
) -> dict[str, Any]:
    """As parse_rule reads it, with its provenance: of a module for the arch's family, of a signature for the archs that
    run the kernels that were timed. Of the product alone that all rows are of."""
    fitted = {
        "rows": len(rows),
        "layers": len({one.group for one in rows}),
        "cu_num": sorted({one.asked.cu_num for one in rows}),
        "libraries": sorted({one.winner.library for one in rows}),
        **provenance,
        "growth": asdict(growth),
    }
    of: dict[str, Any]
    if sku := product_of(rows):
        of = {"archs": [arch], "sku": sku}
    elif rows[0].costs:
        of = {"archs": list(archs_of(subject, arch))}
    else:
        of = {"families": [load_arch(arch).family]}
    if rows[0].costs:
        return {**of, "signature": subject, "fitted": fitted, **_measured_only(learned, rows)}
    return {**of, "module": subject, "fitted": fitted, **learned}


def product_of(rows: Sequence[Example]) -> str:
    """The one that all rows were measured on; empty where they differ or one does not tell."""
    found = {one.sku for one in rows}
    return found.pop() if len(found) == 1 else ""


def _measured_only(learned: Fitted, rows: Sequence[Example]) -> Fitted:
    """No answer for sizes beyond those that were timed, nor on more cores: how their caches are shared is not known."""
    tree = learned["tree"]
    if tree is None:
        return learned
    asked = [one.asked for one in rows]
    bounds = {"K": [one.k for one in asked], "N": [one.n for one in asked]}
    for feature, sizes in bounds.items():
        tree = {"if": f"{feature} < {min(sizes)}", "then": None, "else": tree}
    for feature, sizes in {**bounds, "M": [one.m for one in asked], "CUS": [one.cu_num for one in asked]}.items():
        tree = {"if": f"{feature} <= {max(sizes)}", "then": tree, "else": None}
    return {**learned, "tree": tree}


def archs_of(signature: str, arch: str) -> tuple[str, ...]:
    """On a CPU the levels that run the same code for the signature, else the arch alone."""
    if load_arch(arch).kind is ArchKind.CPU and signature in _SAME_CODE:
        return CPU_LEVELS[CPU_LEVELS.index(_SAME_CODE[signature]) :]
    return (arch,)


def files_of(rows: Sequence[Example]) -> dict[str, Any]:
    """The provenance of tables: their names."""
    return {"files": sorted({Path(one.file).name for one in rows})}


def devices_of(rows: Sequence[Example]) -> dict[str, Any]:
    """The provenance of journals: the devices' models."""
    return {"devices": sorted({one.file for one in rows})}


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
