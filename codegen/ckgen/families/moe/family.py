"""Mixtures of experts as a family of the registry."""

from __future__ import annotations

from dataclasses import dataclass

from ckgen.families.common.device.kind import DeviceCode
from ckgen.families.common.device.unit import Identified
from ckgen.families.gemm.enums import Op
from ckgen.families.gemm.family import FamilyOfGemms
from ckgen.rules.rule_set import Judge
from ckgen.tables.dialect import Dialect


@dataclass(frozen=True, slots=True)
class MoeFamily(FamilyOfGemms):
    """Layers of experts, and their products."""

    name: str = "moe"
    op: Op = Op.MOE

    def device_code(self, instance: Identified) -> DeviceCode:
        """A part of a layer as device code."""
        from ckgen.families.gemm.instance import Instance
        from ckgen.families.moe.device.kinds import device_code

        assert isinstance(instance, Instance)
        return device_code(instance)

    @property
    def judges(self) -> tuple[Judge, ...]:
        """Who judges its Configs."""
        from ckgen.families.moe.rules import JUDGES

        return JUDGES

    @property
    def dialects(self) -> tuple[Dialect, ...]:
        """The kinds of its tables."""
        from ckgen.families.moe.dialect import DIALECTS

        return DIALECTS
