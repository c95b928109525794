"""The table family of MoE layers, read from module.json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ckgen.families.common.m_policy import Rounding, read_roundings
from ckgen.model.module import Module


@dataclass(frozen=True, slots=True)
class MoeModule:
    """The adapter's view, the share of mismatching elements up to which a row is believed, and how tokens are rounded.

    `kernel_m` and `split_k_m` are as those of a GemmModule.
    """

    module: Module
    max_error_ratio: float
    roundings: Mapping[str, Rounding]
    kernel_m: tuple[Rounding, ...]
    split_k_m: tuple[Rounding, ...]


@cache
def moe_module() -> MoeModule:
    """The one module of MoE tables."""
    data: dict[str, Any] = json.loads(Path(__file__).with_name("module.json").read_text(encoding="utf-8"))
    prefixes = tuple(data["prefixes"].items())
    module = Module(data["name"], False, tuple(data["generated"]), (), "moe", prefixes)
    roundings = read_roundings(data["roundings"])
    used = (tuple(roundings[word] for word in data[key]) for key in ("kernel_m", "split_k_m"))
    return MoeModule(module, data["max_error_ratio"], roundings, *used)
