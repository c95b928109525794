"""A case while it is drawn, and what its signature and instance ask of sizes."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import lcm
from random import Random
from typing import Any

from ckgen.families.gemm.config import HostConfig
from ckgen.families.gemm.enums import MoePart, Op
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.measured import GemmUnit
from ckgen.families.gemm.problem_rules import Demand, signature_rules
from ckgen.families.gemm.signature import GemmSignature
from ckgen.fuzz.space import Measured, Space


@dataclass(slots=True)
class Draw:
    """A case while it is drawn. `near` is the instance whose tile and demands the sizes are about."""

    random: Random
    space: Space
    values: dict[str, Any] = field(default_factory=dict)
    unit: GemmUnit = field(init=False)
    near: Instance = field(init=False)
    signature: GemmSignature = field(init=False)
    is_huge: bool = False
    is_legal: bool = True
    is_large: bool = False
    measured: Measured | None = None

    def chance(self, share: float) -> bool:
        """True in that share of draws."""
        return self.random.random() < share


def tile_of(instance: Instance, axis: str) -> int:
    """Of a CPU kernel the register tile."""
    config = instance.config
    if isinstance(config, HostConfig):
        return {"m": config.mr, "n": config.nr, "k": 64}[axis]
    return int(getattr(config.macro_tile, axis))


def multiple_of(draw: Draw, axis: str) -> int:
    """What signature and instance ask of the axis, with the splits that are forced."""
    asked = draw.near.constraints
    found = [getattr(asked, f"{axis}_multiple") or 1]
    axes: tuple[str, ...] = (axis,)
    if axis != "m" and draw.signature.op is Op.MOE and draw.signature.moe.part is MoePart.LAYER:
        axes = ("n", "k")  # what gate_up writes is what down reads
        found.append(getattr(asked, "k_multiple" if axis == "n" else "n_multiple") or 1)
    found += [
        rule.limit(draw.signature)
        for rule in signature_rules()
        if rule.size in axes and rule.test in (Demand.MULTIPLE_OF, Demand.MULTIPLE_OF_BITS)
        if rule.applies(draw.signature)
    ]
    splits = draw.values["k_batch"]
    if axis == "k" and 1 < splits <= 16 and asked.k_multiple_per_split:
        found.append(splits * asked.k_multiple_per_split)
    if axis == "k" and asked.min_k > 1:
        found.append(asked.min_k)
    return lcm(*found)
