"""The decision rules that ship: published ones, and those that `ckgen heuristic fit` wrote, some of one product."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ckgen.families.common.decision_rule import DecisionRule, in_order, parse_rule, subject_of
from ckgen.specs.archs import load_arch, load_archs

FOLDER = Path(__file__).with_name("heuristics")
_LEARNED = "learned"


def heuristics() -> tuple[DecisionRule, ...]:
    """Every rule that answers, for each arch of its family, by arch and module."""
    modules = sorted({subject_of(data) for data in (*_files(""), *_files(_LEARNED))})
    return tuple(rule for arch in load_archs() for module in modules for rule in rules_for(module, arch))


@cache
def rules_for(module: str, arch: str) -> tuple[DecisionRule, ...]:
    """The rules of a module or a signature on an arch: those of single products, then that of all; a learned one in
    place of a published one."""
    found: dict[str, DecisionRule] = {}
    for rule in (*_rules(_LEARNED, module, arch), *published_rules(module, arch)):
        found.setdefault(rule.sku, rule)
    return in_order(found.values())


def published_rules(module: str, arch: str) -> tuple[DecisionRule, ...]:
    """Those that others published."""
    return tuple(_rules("", module, arch))


def heuristic_for(module: str, arch: str, sku: str = "") -> DecisionRule | None:
    """The first rule that answers a product, if one ships; without one that of all products."""
    return next((rule for rule in rules_for(module, arch) if rule.sku in ("", sku)), None)


def published_for(module: str, arch: str) -> DecisionRule | None:
    """The rule that others published, if one ships."""
    return next(iter(published_rules(module, arch)), None)


def _rules(folder: str, module: str, arch: str) -> Iterator[DecisionRule]:
    family = load_arch(arch).family
    for data in _files(folder):
        is_there = arch in data.get("archs", ()) or family in data.get("families", ())
        if is_there and subject_of(data) == module:
            yield parse_rule(data, arch)


@cache
def _files(folder: str) -> tuple[Mapping[str, Any], ...]:
    return tuple(json.loads(path.read_text(encoding="utf-8")) for path in sorted((FOLDER / folder).glob("*.json")))
