"""The table family of MoE layers, read from module.json."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ckgen.model.module import Module


@dataclass(frozen=True, slots=True)
class MoeModule:
    """The adapter's view, and the share of mismatching elements up to which a row is believed."""

    module: Module
    max_error_ratio: float


@cache
def moe_module() -> MoeModule:
    """The one module of MoE tables."""
    data: dict[str, Any] = json.loads(Path(__file__).with_name("module.json").read_text(encoding="utf-8"))
    prefixes = tuple(data["prefixes"].items())
    module = Module(data["name"], False, tuple(data["generated"]), (), "moe", prefixes)
    return MoeModule(module, data["max_error_ratio"])
