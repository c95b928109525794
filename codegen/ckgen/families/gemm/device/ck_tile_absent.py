"""What of ck_tile the pinned CK tree cannot do, by the conditions of ck_tile_absent.json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from ckgen.families.gemm.config import CkTileConfig
from ckgen.families.gemm.instance import Instance

Fact = str | int | bool

_QUANT_FIELDS = (
    "scheduler", "pad_m", "pad_n", "pad_k", "partitioner_group_num", "partitioner_m01", "block_per_cu",
)  # fmt: skip
"""What QuantGemmKernel's bridge takes besides tiles and waves."""


@dataclass(frozen=True, slots=True)
class Unavailable:
    """Why an instance has no device code: what is asked for, what ck_tile lacks for it, and where newer code has it."""

    id: str
    reason: str
    absent: tuple[str, ...]
    newer: str

    @property
    def text(self) -> str:
        """One line for people."""
        lacks = f": no {', '.join(self.absent)} in this CK tree" if self.absent else ""
        return f"{self.reason}{lacks} (rule {self.id})"


@dataclass(frozen=True, slots=True)
class _Entry:
    when: Mapping[str, tuple[Fact, ...]]
    unavailable: Unavailable

    def holds(self, facts: Mapping[str, Fact]) -> bool:
        return all(facts[name] in wanted for name, wanted in self.when.items())


def unavailable(instance: Instance) -> Unavailable | None:
    """Why the tree has no kernel for a ck_tile instance; None where it has one."""
    config = instance.config
    assert isinstance(config, CkTileConfig), f"{instance.name} is no ck_tile instance"
    facts = _facts(instance, config)
    return next((entry.unavailable for entry in _entries() if entry.holds(facts)), None)


def _facts(instance: Instance, config: CkTileConfig) -> Mapping[str, Fact]:
    signature = instance.signature
    plain = CkTileConfig(config.tile, config.warps, config.warp_tile, config.pipeline)
    kept = {name: getattr(config, name) for name in _QUANT_FIELDS}
    return {
        "quant": signature.quant.value,
        "operand": signature.a.value,
        "bias": signature.bias,
        "preshuffle_b": signature.preshuffle_b,
        "pipeline": config.pipeline.value,
        "waves": config.warps[0] * config.warps[1] * config.warps[2],
        "waves_m": config.warps[0],
        "warp_n": config.warp_tile.n,
        "warp_k": config.warp_tile.k,
        "options": replace(plain, **kept) != config,
    }


@cache
def _entries() -> tuple[_Entry, ...]:
    data = json.loads(Path(__file__).with_name("ck_tile_absent.json").read_text(encoding="utf-8"))
    return tuple(
        _Entry(
            {name: tuple(values) for name, values in entry["when"].items()},
            Unavailable(entry["id"], entry["reason"], tuple(entry["absent"]), entry["newer"]),
        )
        for entry in data["entries"]
    )
