"""The decision rules that ship, one file per arch and module."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from ckgen.families.common.decision_rule import DecisionRule, parse_rule


@cache
def heuristics() -> tuple[DecisionRule, ...]:
    """Every rule that ships, by arch and module."""
    folder = Path(__file__).with_name("heuristics")
    rules = (parse_rule(json.loads(path.read_text(encoding="utf-8"))) for path in folder.glob("*.json"))
    return tuple(sorted(rules, key=lambda rule: (rule.arch, rule.module)))


def heuristic_for(module: str, arch: str) -> DecisionRule | None:
    """The rule of a module on an arch, if one ships."""
    return next((rule for rule in heuristics() if (rule.module, rule.arch) == (module, arch)), None)
