"""The decision rules that ship: published ones, and those that `ckgen heuristic fit` wrote."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ckgen.families.common.decision_rule import DecisionRule, parse_rule, subject_of
from ckgen.specs.archs import load_arch, load_archs

FOLDER = Path(__file__).with_name("heuristics")
_LEARNED = "learned"


def heuristics() -> tuple[DecisionRule, ...]:
    """Every rule that answers, for each arch of its family, by arch and module."""
    modules = sorted({subject_of(data) for data in (*_files(""), *_files(_LEARNED))})
    found = (heuristic_for(module, arch) for arch in load_archs() for module in modules)
    return tuple(rule for rule in found if rule is not None)


@cache
def heuristic_for(module: str, arch: str) -> DecisionRule | None:
    """The rule of a module or a signature on an arch, if one ships; a learned one before a published one."""
    return _rule(_LEARNED, module, arch) or published_for(module, arch)


@cache
def published_for(module: str, arch: str) -> DecisionRule | None:
    """The rule that others published, if one ships."""
    return _rule("", module, arch)


def _rule(folder: str, module: str, arch: str) -> DecisionRule | None:
    family = load_arch(arch).family
    found = (data for data in _files(folder) if subject_of(data) == module)
    return next(
        (
            parse_rule(data, arch)
            for data in found
            if arch in data.get("archs", ()) or family in data.get("families", ())
        ),
        None,
    )


@cache
def _files(folder: str) -> tuple[Mapping[str, Any], ...]:
    return tuple(json.loads(path.read_text(encoding="utf-8")) for path in sorted((FOLDER / folder).glob("*.json")))
