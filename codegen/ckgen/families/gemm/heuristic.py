"""The decision rules that ship: a file has one module's on some families of archs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ckgen.families.common.decision_rule import DecisionRule, parse_rule
from ckgen.specs.archs import load_arch, load_archs


def heuristics() -> tuple[DecisionRule, ...]:
    """Every rule that ships, for each arch of its family, by arch and module."""
    modules = sorted({data["module"] for data in _files()})
    found = (heuristic_for(module, arch) for arch in load_archs() for module in modules)
    return tuple(rule for rule in found if rule is not None)


@cache
def heuristic_for(module: str, arch: str) -> DecisionRule | None:
    """The rule of a module on an arch, if one ships."""
    family = load_arch(arch).family
    found = (data for data in _files() if data["module"] == module and family in data["families"])
    return next((parse_rule(data, arch) for data in found), None)


@cache
def _files() -> tuple[Mapping[str, Any], ...]:
    folder = Path(__file__).with_name("heuristics")
    return tuple(json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json")))
